/* What a server gives up, so that whoever takes it over gains little: other users' rights, core dumps, and calls of the
 * system that a database never needs. */
#ifndef SERVER_GUARD_H
#define SERVER_GUARD_H

#include "base/base.h"

/* Keys and documents stay out of core dumps and of other processes of the same user, unless dumps are wanted; and nothing
 * that is run from here may become somebody else. */
void guard_memory(bool has_core_dumps);
/* Becomes the user, with its groups; for a process of root. INVALID without such a user or without the right. */
MUST_USE status guard_become(struct arena *arena, const char *user);
/* From now on this thread, and each that it starts, gets EPERM for calls that start programs, look into other processes,
 * mount, load code into the kernel and the like. Behind guard_memory(). UNSUPPORTED where the kernel cannot do that. */
MUST_USE status guard_calls(struct arena *arena);

#endif
