/* Bench: sessions, the workload that a ttl is made for, beside PostgreSQL and Redis.
 *
 * Of all requests 80 % read a session by its id, 15 % touch one, which restarts its ttl of a few seconds, and 5 % create
 * one. Whoever is not touched in time dies, and the number of the living settles where as many die as are born. Each
 * turn begins with some sessions, runs until those that were never touched again are dead, and is measured from then
 * on. PostgreSQL has a job that deletes the dead once a second, and its autovacuum.
 *
 * Every reply is checked against what the client knows: nobody is gone before the deadline that was last confirmed, and
 * nobody is shown behind the last one that was asked for. One read in a hundred asks for somebody who is dead. */
#include "bench/contest.h"
#include "bench/rival_job.h"

enum {
    ROUNDS = 5,
    TTL_MS = 3000,
    LIVING_AT_START = 4000,
    SESSIONS_MAX = 1 << 20, /* in one turn */
    LATE_MS =
        3, /* clocks of two processes may differ by their last digit, and a bit of time passes */
};

static const enum who contenders[] = { MONGO, POSTGRES, REDIS };
enum { CONTENDERS = sizeof(contenders) / sizeof(*contenders) };

struct sessions {
    struct rival *rival;
    struct random random;
    uint64_t first; /* number of the first session of this turn */
    uint32_t living_count, dead_count;
    uint32_t *living;                  /* sessions that were alive when last looked at */
    uint32_t *dead;                    /* and those that were not */
    int64_t *sure_until, *maybe_until; /* of each session: confirmed, and asked for */
    uint64_t deaths, gone_early;
    bool is_measured;
    struct latency latency;
};

/* ---- picking ----------------------------------------------------------------------------------------- */

/* Somebody whose deadline is not over yet; whoever is found dead on the way is noted. */
static bool pick_living(struct sessions *s, uint32_t *out)
{
    const int64_t now = rival_now_ms();

    while (s->living_count > 0) {
        const uint32_t place = (uint32_t)(random_next(&s->random) % s->living_count);
        *out = s->living[place];
        if (s->maybe_until[*out] > now)
            return true;
        s->living[place] = s->living[--s->living_count];
        s->dead[s->dead_count++] = *out;
        s->deaths++;
    }
    return false;
}

static bytes create(struct sessions *s, struct load_connection *c)
{
    const uint64_t n = s->rival->next++;
    const uint32_t session = (uint32_t)(n - s->first);

    BENCH_CLAIM(session < SESSIONS_MAX);
    bytes request = rival_request(s->rival, c, RIVAL_INSERT, n);
    s->maybe_until[session] = c->asked_ms + TTL_MS;
    return request;
}

static bytes next(void *context, struct load_connection *c)
{
    struct sessions *s = context;
    const uint64_t roll = random_next(&s->random) % 100;
    uint32_t session;

    if (roll < 1 && s->dead_count > 0) {
        session = s->dead[random_next(&s->random) % s->dead_count];
        return rival_request(s->rival, c, RIVAL_READ, s->first + session);
    }
    if (roll >= 95 || !pick_living(s, &session))
        return create(s, c);
    if (roll < 80)
        return rival_request(s->rival, c, RIVAL_READ, s->first + session);
    bytes request = rival_request(s->rival, c, RIVAL_TOUCH, s->first + session);
    if (c->asked_ms + TTL_MS > s->maybe_until[session])
        s->maybe_until[session] = c->asked_ms + TTL_MS;
    return request;
}

/* ---- checking ---------------------------------------------------------------------------------------- */

static void done(void *context, struct load_connection *c, double seconds)
{
    struct sessions *s = context;
    const uint32_t session = (uint32_t)(c->number - s->first);

    if (s->is_measured)
        latency_note(&s->latency, seconds);
    if (c->outcome == RIVAL_FOUND && s->maybe_until[session] + LATE_MS < c->asked_ms)
        rival_complain(c, "shown behind its deadline");
    if (c->outcome == RIVAL_GONE && s->sure_until[session] > rival_now_ms() + LATE_MS)
        rival_complain(c, "gone before its deadline");
    if (c->outcome == RIVAL_GONE)
        s->gone_early++;
    if (c->outcome == RIVAL_GONE || c->kind == RIVAL_READ)
        return;
    if (c->kind == RIVAL_INSERT)
        s->living[s->living_count++] = session;
    if (c->asked_ms + TTL_MS > s->sure_until[session])
        s->sure_until[session] = c->asked_ms + TTL_MS;
}

/* ---- turns ------------------------------------------------------------------------------------------- */

struct turn {
    double rate, p99_us, cpu_us, deaths_per_s, births_per_s, living;
};

static void sessions_begin(struct sessions *s, struct rival *r)
{
    struct sessions kept = *s;

    *s = (struct sessions){ .rival = r,
                            .random = random_seeded(r->next + 1),
                            .first = r->next,
                            .living = kept.living,
                            .dead = kept.dead,
                            .sure_until = kept.sure_until,
                            .maybe_until = kept.maybe_until };
    rival_fill(r, LIVING_AT_START);
    const int64_t until = rival_now_ms() + TTL_MS;
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        s->sure_until[i] = 0;
        s->maybe_until[i] = i < LIVING_AT_START ? until : 0;
    }
    for (uint32_t i = 0; i < LIVING_AT_START; i++)
        s->living[s->living_count++] = i;
}

static struct turn run_turn(struct sessions *s, struct rival *r, size_t connections)
{
    const struct load_source source = {
        .next = next, .context = s, .read_head = r->read_head, .done = done
    };
    const double warm_s = 1.2 * TTL_MS / 1000, seconds = bench_is_quick() ? 1.5 : 3;

    sessions_begin(s, r);
    load_run_on(&r->load, connections, &source, warm_s, UINT64_MAX);
    const uint64_t deaths = s->deaths, born = r->next;
    const double cpu = family_cpu_ms(r->pid);
    s->is_measured = true;
    const struct load_result result = load_run_on(&r->load, connections, &source, seconds,
                                                  UINT64_MAX);
    return (struct turn){ .rate = result.requests / result.seconds,
                          .p99_us = latency_at(&s->latency, 0.99),
                          .cpu_us = (family_cpu_ms(r->pid) - cpu) * 1000 / result.requests,
                          .deaths_per_s = (double)(s->deaths - deaths) / result.seconds,
                          .births_per_s = (double)(r->next - born) / result.seconds,
                          .living = s->living_count };
}

static void tell(const char *what, enum who against, struct turn turns[WHO][ROUNDS], size_t rounds)
{
    double ratios[ROUNDS], p99[ROUNDS];
    char name[128], value[96];

    for (size_t i = 0; i < rounds; i++) {
        ratios[i] = turns[MONGO][i].rate / turns[against][i].rate;
        p99[i] = turns[MONGO][i].p99_us / turns[against][i].p99_us;
    }
    snprintf(name, sizeof(name), "sessions, MongoDB face against %s, throughput", what);
    contest_ratio(name, ratios, rounds, against == POSTGRES ? 1.5 : 0);
    const double median = bench_median(p99, rounds);
    snprintf(name, sizeof(name), "sessions, MongoDB face against %s, p99", what);
    snprintf(value, sizeof(value), "%.2f times (%.2f to %.2f)", median, p99[0], p99[rounds - 1]);
    if (against == POSTGRES)
        bench_figure(name, value, "<= 1.0 times", median <= 1);
    else
        printf("FIGURE | %s | %s | - | -\n", name, value);
}

static void measure(struct contest *contest, struct sessions *s)
{
    const size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    const size_t connections = (size_t)bench_number("CONNECTIONS", RIVAL_CONNECTIONS);
    struct turn turns[WHO][ROUNDS];
    struct job job;

    job_start(&job, &contest->postgres, "DELETE FROM c WHERE expires_at <= now()");
    for (size_t i = 0; i < rounds; i++) {
        for (size_t k = 0; k < CONTENDERS; k++) {
            struct turn *turn = &turns[contenders[k]][i];
            *turn = run_turn(s, &contest->rivals[contenders[k]], connections);
            printf("%-16s: %6.0f/s, p99 %5.0f us, processor %.1f us per request, %.0f born and "
                   "%.0f dead a second, %.0f alive\n",
                   contest->rivals[contenders[k]].name, turn->rate, turn->p99_us, turn->cpu_us,
                   turn->births_per_s, turn->deaths_per_s, turn->living);
            fflush(stdout);
        }
    }
    job_stop(&job);
    tell("PostgreSQL", POSTGRES, turns, rounds);
    tell("Redis", REDIS, turns, rounds);
}

int main(void)
{
    static const bool some[WHO] = { [MONGO] = true, [POSTGRES] = true, [REDIS] = true };
    static struct contest contest;
    struct sessions sessions = { .living = calloc(SESSIONS_MAX, sizeof(uint32_t)),
                                 .dead = calloc(SESSIONS_MAX, sizeof(uint32_t)),
                                 .sure_until = calloc(SESSIONS_MAX, sizeof(int64_t)),
                                 .maybe_until = calloc(SESSIONS_MAX, sizeof(int64_t)) };

    BENCH_CLAIM(sessions.living && sessions.dead && sessions.sure_until && sessions.maybe_until);
    if (!contest_open(&contest, some))
        return 0;
    for (size_t i = 0; i < CONTENDERS; i++) {
        contest.rivals[contenders[i]].ttl_ms = TTL_MS;
        rival_connect(&contest.rivals[contenders[i]], RIVAL_CONNECTIONS);
    }
    measure(&contest, &sessions);
    for (size_t i = 0; i < CONTENDERS; i++)
        rival_disconnect(&contest.rivals[contenders[i]]);
    contest_close(&contest);
    free(sessions.living);
    free(sessions.dead);
    free(sessions.sure_until);
    free(sessions.maybe_until);
    return 0;
}
