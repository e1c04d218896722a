/* What tests of crashes share: a directory, processes that are killed in it, and power cuts if the disk of
 * tests/preload/power.c is loaded before the program. Without it everything that is about power does nothing.
 *
 * A round: a child is forked and tells over a pipe what it has done, is killed, the power is cut, and another child looks at
 * what is left. */
#ifndef TESTS_SUPPORT_CRASH_H
#define TESTS_SUPPORT_CRASH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct crash {
    const char *name; /* of the test */
    char path[PATH_MAX];
    uint64_t rounds, first_seed;
};

/* Makes a directory. The number of rounds is the first argument, or ROUNDS, or what is given; SEED is the first one's seed. */
void crash_begin(struct crash *crash, int argc, char **argv, uint64_t rounds);
/* The last line, and what main() returns. The directory stays if something is wrong. */
int crash_end(struct crash *crash, uint64_t passed, bool is_sound);

/* As fork(), with one end of a pipe for each: the parent reads, the child writes. */
pid_t crash_fork(int *pipe_end_out);
/* Kills it, if it has not been killed yet. */
void crash_kill(pid_t child);
/* Waits for it; false, and says so, if it has ended by itself. */
bool crash_was_killed(const struct crash *crash, pid_t child, uint64_t seed);
/* ---- power ---- */

/* Is there a disk that forgets? */
bool crash_has_power(void);
/* How many files have lost something. */
unsigned crash_cut_power(uint64_t seed);
/* See tests/preload/power.c. The second is for the child to call. */
void crash_sync_names_with_files(bool is_so);
void crash_end_behind(unsigned moves, unsigned calls);

#endif
