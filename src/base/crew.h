/* A few threads that lend a hand. Whoever has work that falls into parts does it on its own thread, and asks
 * for hands to do some of it at the same time. All who ask share the same few, so asking may be in vain, and
 * nobody may depend on it. */
#ifndef BASE_CREW_H
#define BASE_CREW_H

#include <stdbool.h>

struct crew;

/* At most so many threads, each made when it is first needed. NULL without memory. */
struct crew *crew_open(unsigned hands);
/* No work may be under way. NULL is fine. */
void crew_close(struct crew *crew);

/* True: another thread calls run(context), soon and once; the caller has to see to it that both last until that
 * returns. False: nobody is free, or `crew` is NULL. Never waits. */
bool crew_lend(struct crew *crew, void (*run)(void *context), void *context);

/* As many as the machine can run beside the thread that asks; 0 on one processor. */
unsigned crew_usual_hands(void);

#endif
