/* Bench: a million documents die at once under a steady load; beside PostgreSQL (deleting, and dropping a partition) and
 * Redis.
 *
 * One after the other, each alone: documents that stay, a million that have one deadline in common, then reads and
 * writes at a given pace from some seconds before the deadline to half a minute behind it. Requests are due by the
 * clock, so that one that had to wait counts with its wait. A tenth of the reads ask for those who die: found before
 * the deadline, gone from it on, or the program ends. What is told: how long replies took before and behind the
 * deadline, the longest pause, what the disk holds over time, and the bytes written for each document that died, beyond
 * what the load itself writes. PostgreSQL's job runs at the deadline and vacuums
 * when it has deleted; the variant with partitions drops the one that ends at the deadline.
 *
 * Each of them runs in a process of its own, so that one that fails takes nothing with it but its own figures; whoever
 * is still loading when the load should begin is asked again with more time. Beside the load two threads show what the
 * machine itself does (bench/control.h): the longest pause can only be judged against theirs. */
#include <math.h>

#include <sys/wait.h>

#include "bench/contest.h"
#include "bench/control.h"
#include "bench/rival_job.h"

enum {
    READS_PER_WRITE = 4,
    DOOMED_EVERY = 10, /* of the reads */
    PER_SECOND = 2500,
    CONNECTIONS = 32,
    SECONDS_MAX = 64,
    SAMPLES_MAX = 256,
    SAMPLE_MS = 500,
    BURST_BYTES = 2 << 20,
    LATE_MS = 3,
    COUNTS = 10,
    COUNT_PAUSE_MS = 90,
    TRIES_MAX = 3,
    SLOW_MAX = 4096,
};

enum { EXIT_TOO_SLOW = 3 };

enum way { WAY_MAYFLY, WAY_DELETE, WAY_PARTITION, WAY_REDIS, WAYS };

static const char *const way_names[WAYS] = { "mayfly", "PostgreSQL, DELETE",
                                             "PostgreSQL, partition", "Redis" };
static const enum who way_who[WAYS] = { MONGO, POSTGRES, POSTGRES, REDIS };

struct sample {
    double at, disk, written; /* seconds from the deadline; bytes */
};

/* A request that took long, for those who want to know what the server did at that moment. */
struct slow {
    double at;       /* seconds from the deadline when it was due */
    double moment_s; /* the same by the monotonic clock, which traces can have too */
    double ms;
    bool is_read;
};

struct dying {
    enum way way;
    struct contest contest;
    struct rival *rival;
    struct random random;
    uint64_t staying, doomed, doomed_first;
    int64_t deadline_ms;
    int before_s, after_s;
    uint64_t turn, doomed_found, doomed_gone;
    _Atomic uint64_t inserts_sent, inserts_done;
    struct latency reads[SECONDS_MAX], writes[SECONDS_MAX];
    double slow_ms; /* 0: they are not told */
    size_t slow_count;
    struct slow slow[SLOW_MAX];
    /* Of the thread that watches. */
    pthread_t watcher, sweeper, counter;
    size_t sample_count;
    struct sample samples[SAMPLES_MAX];
    double disk_staying, swept_after_s;
    double slack;         /* times the time that loading should take, until the load begins */
    double slowest_count; /* seconds, of those who count the living in the second of the deadline */
    struct control control;
};

/* ---- the load ---------------------------------------------------------------------------------------- */

static bytes next(void *context, struct load_connection *c)
{
    struct dying *d = context;
    const uint64_t turn = d->turn++;

    if (turn % (READS_PER_WRITE + 1) == 0) {
        atomic_fetch_add(&d->inserts_sent, 1);
        return rival_request(d->rival, c, RIVAL_INSERT, d->rival->next++);
    }
    if (turn % DOOMED_EVERY == 1)
        return rival_request(d->rival, c, RIVAL_READ,
                             d->doomed_first + random_next(&d->random) % d->doomed);
    return rival_request(d->rival, c, RIVAL_READ, random_next(&d->random) % d->staying);
}

static void check_doomed(struct dying *d, const struct load_connection *c)
{
    if (c->outcome == RIVAL_FOUND) {
        d->doomed_found++;
        if (c->asked_ms > d->deadline_ms + LATE_MS)
            rival_complain(c, "shown behind its deadline");
    } else {
        d->doomed_gone++;
        if (rival_now_ms() + LATE_MS < d->deadline_ms)
            rival_complain(c, "gone before its deadline");
    }
}

static void done(void *context, struct load_connection *c, double seconds)
{
    struct dying *d = context;
    const double at = (double)(rival_now_ms() - d->deadline_ms) / 1000 - seconds + d->before_s;
    const size_t second = at <= 0 ? 0 : at >= SECONDS_MAX ? SECONDS_MAX - 1 : (size_t)at;

    latency_note(c->kind == RIVAL_READ ? &d->reads[second] : &d->writes[second], seconds);
    if (d->slow_ms > 0 && seconds * 1000 >= d->slow_ms && d->slow_count < SLOW_MAX)
        d->slow[d->slow_count++] = (struct slow){ .at = at - d->before_s,
                                                  .moment_s = bench_now_s() - seconds,
                                                  .ms = seconds * 1000,
                                                  .is_read = c->kind == RIVAL_READ };
    if (c->kind == RIVAL_INSERT)
        atomic_fetch_add(&d->inserts_done, 1);
    if (c->number >= d->doomed_first && c->number < d->doomed_first + d->doomed)
        check_doomed(d, c);
    else if (c->outcome != RIVAL_FOUND)
        rival_complain(c, "somebody who stays is gone");
}

/* ---- watching ---------------------------------------------------------------------------------------- */

static double since_deadline(const struct dying *d)
{
    return (double)(rival_now_ms() - d->deadline_ms) / 1000;
}

/* Nobody of the dead is counted, nobody of the living is left out. */
static void check_count(struct dying *d)
{
    const uint64_t least = d->staying + atomic_load(&d->inserts_done);
    const double begun = bench_now_s(), asked_at = since_deadline(d);
    const uint64_t count = mongo_count(d->rival->port);
    const double took = bench_now_s() - begun;
    const uint64_t most = d->staying + atomic_load(&d->inserts_sent);

    if (count < least || count > most) {
        fprintf(stderr,
                "%" PRIu64 " are counted %.3f s behind the deadline instead of %" PRIu64 "\n",
                count, asked_at, least);
        exit(1);
    }
    if (took > d->slowest_count)
        d->slowest_count = took;
}

/* At the deadline and again and again in the second behind it. */
static void *count(void *argument)
{
    struct dying *d = argument;

    while (rival_now_ms() < d->deadline_ms)
        bench_sleep_ms(1);
    for (int i = 0; i < COUNTS; i++) {
        check_count(d);
        bench_sleep_ms(COUNT_PAUSE_MS);
    }
    return NULL;
}

static void *watch(void *argument)
{
    struct dying *d = argument;

    while (since_deadline(d) < d->after_s && d->sample_count < SAMPLES_MAX) {
        d->samples[d->sample_count++] =
            (struct sample){ .at = since_deadline(d),
                             .disk = directory_bytes(d->rival->data),
                             .written = family_written_bytes(d->rival->pid) };
        bench_sleep_ms(SAMPLE_MS);
    }
    return NULL;
}

/* What the user of PostgreSQL has to do. */
static void *sweep(void *argument)
{
    struct dying *d = argument;
    struct postgres own = d->contest.postgres;

    postgres_connect(&own);
    while (since_deadline(d) < 0)
        bench_sleep_ms(10);
    if (d->way == WAY_PARTITION) {
        postgres_ask(&own, "DROP TABLE c_doomed");
    } else {
        postgres_ask(&own, "DELETE FROM c WHERE expires_at <= now()");
        postgres_ask(&own, "VACUUM c");
    }
    d->swept_after_s = since_deadline(d);
    PQfinish(own.connection);
    return NULL;
}

/* ---- loading ----------------------------------------------------------------------------------------- */

/* Those who stay live a day; the table has a partition for each hour then. */
static void make_partitions(struct postgres *p)
{
    char sql[256];
    const int64_t hour = rival_now_ms() / 3600000;

    postgres_ask(p, "DROP TABLE c");
    postgres_ask(p, "CREATE TABLE c (id text NOT NULL, doc jsonb NOT NULL, expires_at timestamptz "
                    "NOT NULL, PRIMARY KEY (id, expires_at)) PARTITION BY RANGE (expires_at)");
    for (int64_t h = hour + 23; h < hour + 27; h++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TABLE c_%" PRId64 " PARTITION OF c FOR VALUES FROM (to_timestamp(%" PRId64
                 ")) TO (to_timestamp(%" PRId64 "))",
                 h, h * 3600, (h + 1) * 3600);
        postgres_ask(p, sql);
    }
}

static void make_doomed_partition(struct postgres *p, int64_t deadline_ms)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "CREATE TABLE c_doomed PARTITION OF c FOR VALUES FROM (to_timestamp(%" PRId64
             ".001)) TO (to_timestamp(%" PRId64 ".001))",
             deadline_ms / 1000 - 3600, deadline_ms / 1000);
    postgres_ask(p, sql);
}

/* Those who stay first: how long that takes tells how far away the deadline has to be. */
static void load_documents(struct dying *d)
{
    struct rival *r = d->rival;
    const double start = bench_now_s();

    rival_fill(r, d->staying);
    const double seconds = bench_now_s() - start;
    family_settle(r->pid);
    d->disk_staying = directory_bytes(r->data);
    const double needed = d->slack * seconds * (double)d->doomed / (double)d->staying +
                          d->before_s + 5;
    d->deadline_ms = (rival_now_ms() + (int64_t)(needed * 1000)) / 1000 * 1000;
    if (d->way == WAY_PARTITION)
        make_doomed_partition(&d->contest.postgres, d->deadline_ms);
    d->doomed_first = r->next;
    r->deadline_ms = d->deadline_ms;
    rival_fill(r, d->doomed);
    r->deadline_ms = 0;
    printf("%s: %" PRIu64 " documents that stay and %" PRIu64
           " that die in %.1f s, %.0f MB on disk\n",
           way_names[d->way], d->staying, d->doomed, bench_now_s() - start,
           directory_bytes(r->data) / 1e6);
    if (since_deadline(d) > -d->before_s) {
        printf("%s: loading took longer than expected\n", way_names[d->way]);
        exit(EXIT_TOO_SLOW);
    }
    while (since_deadline(d) < -d->before_s)
        bench_sleep_ms(10);
}

/* ---- telling ----------------------------------------------------------------------------------------- */

struct outcome {
    bool is_there;
    double slowest_count_s;
    struct {
        double late_us, sync_us, sync_p99_us; /* the longest, of what the machine does by itself */
    } control_before, control;
    double read_p99_before, read_p99, write_p99_before, write_p99, longest_us;
    double bytes_per_document; /* written beyond what the load writes */
    double disk_over,
        disk_after_s; /* what stays, by its share; when it was first within 10 % of it, or -1 */
};

static double p99_between(const struct latency seconds[SECONDS_MAX], int from, int to,
                          double *longest_us)
{
    static struct latency sum;

    sum = (struct latency){ 0 };
    for (int s = from; s < to && s < SECONDS_MAX; s++)
        latency_add(&sum, &seconds[s]);
    if (sum.longest_us > *longest_us)
        *longest_us = sum.longest_us;
    return latency_at(&sum, 0.99);
}

/* The last sample before a moment. */
static const struct sample *sample_at(const struct dying *d, double at)
{
    size_t i = 0;

    while (i + 1 < d->sample_count && d->samples[i + 1].at < at)
        i++;
    return &d->samples[i];
}

/* The longest that anybody who only slept or synced had to wait. */
static double control_longest(const struct latency seconds[CONTROL_SECONDS_MAX], int from, int to,
                              double *p99_out)
{
    double longest_us = 0;

    *p99_out = p99_between(seconds, from, to, &longest_us);
    return longest_us;
}

static void take_control(const struct dying *d, struct outcome *o)
{
    const int from = d->before_s, to = d->before_s + d->after_s;
    double unused;

    o->control_before.late_us = control_longest(d->control.late, 0, from, &unused);
    o->control_before.sync_us = control_longest(d->control.syncs, 0, from,
                                                &o->control_before.sync_p99_us);
    o->control.late_us = control_longest(d->control.late, from, to, &unused);
    o->control.sync_us = control_longest(d->control.syncs, from, to, &o->control.sync_p99_us);
    printf(
        "beside %s: the longest delay of who only sleeps %.1f -> %.1f ms, of who only syncs %.1f "
        "-> %.1f ms (p99 %.1f -> %.1f ms)\n",
        way_names[d->way], o->control_before.late_us / 1000, o->control.late_us / 1000,
        o->control_before.sync_us / 1000, o->control.sync_us / 1000,
        o->control_before.sync_p99_us / 1000, o->control.sync_p99_us / 1000);
}

static void tell_seconds(const struct dying *d)
{
    for (int s = 0; s < d->before_s + d->after_s && s < SECONDS_MAX; s++)
        printf("%s, second %d: reads p99 %.2f longest %.1f ms, writes p99 %.2f longest %.1f ms, "
               "who only syncs %.1f ms\n",
               way_names[d->way], s - d->before_s, latency_at(&d->reads[s], 0.99) / 1000,
               d->reads[s].longest_us / 1000, latency_at(&d->writes[s], 0.99) / 1000,
               d->writes[s].longest_us / 1000, d->control.syncs[s].longest_us / 1000);
    for (size_t i = 0; i < d->slow_count; i++)
        printf("%s, slow %s: due at %.4f s (%.4f), took %.2f ms\n", way_names[d->way],
               d->slow[i].is_read ? "read" : "write", d->slow[i].at, d->slow[i].moment_s,
               d->slow[i].ms);
}

/* Of each second: where 99 of 100 lie, between the median and 999 of 1,000. */
static void draw_latency(const char *chart, const struct dying *d,
                         const struct latency seconds[SECONDS_MAX])
{
    for (int s = 0; s < d->before_s + d->after_s && s < SECONDS_MAX; s++)
        contest_point(chart, way_names[d->way], s - d->before_s,
                      latency_at(&seconds[s], 0.99) / 1000, latency_at(&seconds[s], 0.5) / 1000,
                      latency_at(&seconds[s], 0.999) / 1000);
}

static double mean_per_s_of(const struct sample *from, const struct sample *to)
{
    return to->at > from->at ? (to->written - from->written) / (to->at - from->at) : 0;
}

/* What the load itself writes: the mean of the middle half of these half seconds. What comes in bursts, by a flush, a checkpoint or a
 * compaction, does not count, and so is charged to those who die. The median would be one of two values where every other half second has a
 * stretch of zeros ahead of a log. */
static double written_per_s(const struct dying *d, double from, double to)
{
    double rates[SAMPLES_MAX], sum = 0;
    size_t count = 0;

    for (size_t i = 1; i < d->sample_count; i++) {
        const struct sample *before = &d->samples[i - 1], *sample = &d->samples[i];
        if (before->at >= from && sample->at <= to)
            rates[count++] = (sample->written - before->written) / (sample->at - before->at);
    }
    qsort(rates, count, sizeof(*rates), bench_compare);
    const size_t first = count / 4, end = count - count / 4;
    for (size_t i = first; i < end; i++)
        sum += rates[i];
    return count > 0 ? sum / (double)(end - first) : 0;
}

/* Who writes what has to be found out when it is too much. */
static void tell_bursts(const struct dying *d, double load_per_s)
{
    for (size_t i = 1; i < d->sample_count; i++) {
        const struct sample *before = &d->samples[i - 1], *sample = &d->samples[i];
        const double more = sample->written - before->written -
                            load_per_s * (sample->at - before->at);
        if (more > BURST_BYTES)
            printf("%s, %.1f to %.1f s: %.1f MB written beside the load\n", way_names[d->way],
                   before->at, sample->at, more / 1e6);
    }
}

static struct outcome outcome_of(const struct dying *d)
{
    /* From the deadline to the end, so that a load which writes a little more from second to second is neither for nor against anybody: 0.2 %
     * of what PostgreSQL's writes are 8 bytes for each of the dead. But not more than in the last third, so that a death that takes long is
     * not taken for load. Not as before the deadline, because the log that is in use then may have begun as an old one, with room that the
     * loading has paid for. */
    const struct sample *middle = sample_at(d, 0), *last = &d->samples[d->sample_count - 1];
    const double load_per_s = fmin(written_per_s(d, middle->at, last->at),
                                   written_per_s(d, last->at * 2 / 3, last->at));
    const double mean_per_s = fmin(mean_per_s_of(sample_at(d, -0.5 * d->before_s), middle),
                                   mean_per_s_of(sample_at(d, last->at - 5), last));
    const double stays = d->disk_staying *
                         (1 + (double)atomic_load(&d->inserts_done) / (double)d->staying);
    double longest_before = 0;
    struct outcome o = {
        .is_there = true, .slowest_count_s = d->slowest_count, .longest_us = 0, .disk_after_s = -1
    };

    o.read_p99_before = p99_between(d->reads, 0, d->before_s, &longest_before);
    o.write_p99_before = p99_between(d->writes, 0, d->before_s, &longest_before);
    o.read_p99 = p99_between(d->reads, d->before_s, d->before_s + d->after_s, &o.longest_us);
    o.write_p99 = p99_between(d->writes, d->before_s, d->before_s + d->after_s, &o.longest_us);
    o.bytes_per_document =
        (last->written - middle->written - load_per_s * (last->at - middle->at)) /
        (double)d->doomed;
    printf("%s: %.1f bytes written per document, if the mean of five seconds tells what the load "
           "writes (%.2f MB/s)\n",
           way_names[d->way],
           (last->written - middle->written - mean_per_s * (last->at - middle->at)) /
               (double)d->doomed,
           mean_per_s / 1e6);
    o.disk_over = last->disk / stays;
    for (size_t i = 0; i < d->sample_count && o.disk_after_s < 0; i++) {
        if (d->samples[i].at > 0 && d->samples[i].disk <= 1.1 * stays)
            o.disk_after_s = d->samples[i].at;
    }
    printf(
        "%s: read p99 %.0f -> %.0f us, write p99 %.0f -> %.0f us, longest %.1f -> %.1f ms, "
        "%.1f bytes written per document (the load: %.2f MB/s), disk %.2f times what stays, swept "
        "after %.1f s; of the doomed %" PRIu64 " read before and %" PRIu64 " behind\n",
        way_names[d->way], o.read_p99_before, o.read_p99, o.write_p99_before, o.write_p99,
        longest_before / 1000, o.longest_us / 1000, o.bytes_per_document, load_per_s / 1e6,
        o.disk_over, d->swept_after_s, d->doomed_found, d->doomed_gone);
    take_control(d, &o);
    tell_seconds(d);
    tell_bursts(d, load_per_s);
    draw_latency("expiry", d, d->reads);
    draw_latency("expiry-writes", d, d->writes);
    for (size_t i = 0; i < d->sample_count; i++)
        contest_point("disk", way_names[d->way], d->samples[i].at, d->samples[i].disk / 1e6, 0, 0);
    fflush(stdout);
    return o;
}

static void tell_number(const char *what, const char *format, double value, const char *goal,
                        double most)
{
    char text[64];

    snprintf(text, sizeof(text), format, value);
    bench_figure(what, text, goal, value <= most);
}

static void tell_plain(const char *what, const char *value)
{
    printf("FIGURE | %s | %s | - | -\n", what, value);
}

static void tell_ours(const struct outcome *ours)
{
    char value[96];

    tell_number("documents die under load: p99 of reads against before", "%.2f times",
                ours->read_p99 / ours->read_p99_before, "<= 1.2 times", 1.2);
    tell_number("the same, p99 of writes", "%.2f times", ours->write_p99 / ours->write_p99_before,
                "<= 1.2 times", 1.2);
    tell_number("the same, longest pause", "%.1f ms", ours->longest_us / 1000, "<= 20 ms", 20);
    snprintf(value, sizeof(value), "%.1f / %.1f ms", ours->control.late_us / 1000,
             ours->control.sync_us / 1000);
    tell_plain("the same, longest pause of a thread that only sleeps / only syncs", value);
    snprintf(value, sizeof(value), "%.1f ms", ours->slowest_count_s * 1000);
    tell_plain("the same, slowest count in the second of their death", value);
    snprintf(value, sizeof(value), "after %.1f s, %.2f times at the end", ours->disk_after_s,
             ours->disk_over);
    bench_figure("the same, disk within 10 % of what stays", value, "<= 30 s",
                 ours->disk_after_s >= 0 && ours->disk_after_s <= 30);
}

static void tell_beside(const struct outcome o[WAYS])
{
    const struct outcome *ours = &o[WAY_MAYFLY], *rows = &o[WAY_DELETE], *cut = &o[WAY_PARTITION];
    char what[128], value[96];

    snprintf(value, sizeof(value), "%.1f against %.0f bytes", ours->bytes_per_document,
             rows->bytes_per_document);
    if (rows->is_there)
        bench_figure("bytes written per dead document against DELETE and VACUUM", value, "<= 5 %",
                     ours->bytes_per_document <= 0.05 * rows->bytes_per_document);
    snprintf(value, sizeof(value), "%.1f against %.1f bytes", ours->bytes_per_document,
             cut->bytes_per_document);
    /* A file that is dropped costs nothing for each of its rows. What is measured there is how much the load itself varies, which may count
     * against us, but not for us. */
    if (cut->is_there)
        bench_figure("the same against dropping a partition", value, "<= 30 bytes more",
                     ours->bytes_per_document <= fmin(cut->bytes_per_document, 0) + 30);
    for (int w = WAY_DELETE; w < WAYS; w++) {
        snprintf(what, sizeof(what),
                 "%s: p99 of reads against before, longest pause, disk at the end", way_names[w]);
        snprintf(value, sizeof(value), "%.2f times, %.1f ms, %.2f times",
                 o[w].read_p99 / o[w].read_p99_before, o[w].longest_us / 1000, o[w].disk_over);
        if (o[w].is_there)
            tell_plain(what, value);
    }
}

/* ---- the measurement --------------------------------------------------------------------------------- */

static void run_load(struct dying *d)
{
    const bool is_swept = d->way == WAY_DELETE || d->way == WAY_PARTITION;
    const bool is_counted = d->way == WAY_MAYFLY;
    const struct load_source source = {
        .next = next, .context = d, .done = done, .read_head = d->rival->read_head
    };

    control_begin(&d->control, d->contest.top);
    BENCH_CLAIM(pthread_create(&d->watcher, NULL, watch, d) == 0);
    BENCH_CLAIM(!is_swept || pthread_create(&d->sweeper, NULL, sweep, d) == 0);
    BENCH_CLAIM(!is_counted || pthread_create(&d->counter, NULL, count, d) == 0);
    load_pace(&d->rival->load, &source, PER_SECOND, d->before_s + d->after_s);
    pthread_join(d->watcher, NULL);
    if (is_swept)
        pthread_join(d->sweeper, NULL);
    if (is_counted)
        pthread_join(d->counter, NULL);
    control_end(&d->control);
}

/* Nothing if it is not installed. */
static struct outcome measure(enum way way, double slack)
{
    struct dying *d = calloc(1, sizeof(*d));
    bool takes_part[WHO] = { false };
    BENCH_CLAIM(d != NULL);

    d->way = way;
    d->slack = slack;
    d->slow_ms = (double)bench_number("SLOW", 0);
    d->staying = bench_is_quick() ? 50000 : 200000;
    d->doomed = bench_is_quick() ? 100000 : 1000000;
    d->before_s = bench_is_quick() ? 3 : 10;
    d->after_s = bench_is_quick() ? 5 : 30;
    d->random = random_seeded(1);
    takes_part[way_who[way]] = true;
    if (!contest_open(&d->contest, takes_part))
        return (struct outcome){ .is_there = false };
    d->rival = &d->contest.rivals[way_who[way]];
    if (way == WAY_PARTITION)
        make_partitions(&d->contest.postgres);
    rival_connect(d->rival, CONNECTIONS);
    load_documents(d);
    run_load(d);
    const struct outcome o = outcome_of(d);
    rival_disconnect(d->rival);
    contest_close(&d->contest);
    free(d);
    return o;
}

/* In a process of its own; its exit code, or -1 if it was killed. */
static int measure_apart(enum way way, double slack, struct outcome *out)
{
    int ends[2], ended;

    BENCH_CLAIM(pipe(ends) == 0);
    fflush(stdout);
    const pid_t child = fork();
    BENCH_CLAIM(child >= 0);
    if (child == 0) {
        const struct outcome o = measure(way, slack);
        fflush(stdout);
        BENCH_CLAIM(write(ends[1], &o, sizeof(o)) == (ssize_t)sizeof(o));
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], out, sizeof(*out)) != (ssize_t)sizeof(*out))
        *out = (struct outcome){ .is_there = false };
    close(ends[0]);
    BENCH_CLAIM(waitpid(child, &ended, 0) == child);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static int measure_patiently(enum way way, struct outcome *out)
{
    double slack = 1.6;
    int code = EXIT_TOO_SLOW;

    for (int i = 0; i < TRIES_MAX && code == EXIT_TOO_SLOW; i++, slack *= 2)
        code = measure_apart(way, slack, out);
    if (code != 0)
        fprintf(stderr, "%s failed; its figures are missing\n", way_names[way]);
    return code;
}

int main(void)
{
    struct outcome outcomes[WAYS] = { 0 };
    const long only = bench_number("WAY", -1);
    int code = 0;

    for (int w = 0; w < WAYS; w++) {
        const bool is_left_out = only < 0 ? bench_is_quick() && w > WAY_DELETE : only != w;
        if (!is_left_out && measure_patiently((enum way)w, &outcomes[w]) != 0 && w == WAY_MAYFLY)
            code = 1;
    }
    if (outcomes[WAY_MAYFLY].is_there) {
        tell_ours(&outcomes[WAY_MAYFLY]);
        tell_beside(outcomes);
    }
    return code;
}
