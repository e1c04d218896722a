/* RocksDB sorted: an opened file.
 *
 * What every reader of a file needs is read once, when it is opened: its index, unpacked, and the ranges that it says were
 * deleted. Whether a range covers a row is not decided here: it only makes the row suspect.
 *
 * A get in a file of 16 MB would touch a dozen places of the index that are in no cache of the processor. So the index is
 * kept a second time as an array: of each key 16 bytes behind what all keys begin with, and every 16th of them in an
 * array of their own, which is searched by halves; the 16 between two of those are looked at all.
 *
 * Keys of documents end in numbers that count up, behind a time of which a file has few. So where a document lies among those
 * of its time can nearly be computed, and only the blocks around that place have to be looked at. To come to a page of memory for
 * the first time costs more than all of the search; so what a get needs to know of blocks stands side by side, eight bytes
 * for each.
 *
 * A file that RocksDB has removed in the meantime stays readable, and stays on the disk, until it is let go.
 *
 * Threads: any; nothing changes but the count of holders. */
#include "storage/rocksdb_sorted.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANGES_MAX = 64, RUNS_MAX = 32, NEAR = 6 /* blocks around a place that was computed */ };

struct sorted_range {
    bytes start, end;
};

/* ---- blocks --------------------------------------------------------------------------------------- */

bool sorted_read(const struct sorted *sorted, uint64_t offset, uint8_t *out, size_t len)
{
    for (size_t have = 0; have < len;) {
        const ssize_t n = pread(sorted->file, out + have, len - have, (off_t)(offset + have));
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

/* A block by itself: read, verified and unpacked. NULL if that cannot be done; else memory of the caller's. */
static uint8_t *read_block(const struct sorted *sorted, struct sst_place place, bytes *content_out)
{
    const size_t len = (size_t)place.len + SST_TRAILER_BYTES;
    uint8_t *packed = memory_take(len), *room = NULL;
    const bytes stored = bytes_of(packed, len);
    size_t content_len;

    if (packed && sorted_read(sorted, place.offset, packed, len) && sst_is_sound(stored) &&
        sst_content_len(stored, &content_len))
        room = memory_take(content_len);
    if (room && !sst_content(stored, room, content_out)) {
        memory_give(room);
        room = NULL;
    }
    if (room && content_out->data != room && content_out->len)
        memcpy(room, content_out->data, content_out->len);
    if (room)
        content_out->data = room;
    memory_give(packed);
    return room;
}

/* ---- finding -------------------------------------------------------------------------------------- */

/* The bytes as numbers that are in the same order, filled up with zeros. */
static void read_head(bytes key, uint64_t out[2])
{
    uint8_t head[16] = { 0 };

    if (key.len)
        memcpy(head, key.data, key.len < sizeof(head) ? key.len : sizeof(head));
    for (int half = 0; half < 2; half++) {
        out[half] = 0;
        for (int i = 0; i < 8; i++)
            out[half] = out[half] << 8 | head[half * 8 + i];
    }
}

static bool is_below(const uint64_t a[2], const uint64_t b[2])
{
    return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]);
}

static size_t shared_len(bytes a, bytes b)
{
    size_t len = 0;

    while (len < a.len && len < b.len && a.data[len] == b.data[len])
        len++;
    return len;
}

/* Keys in an index ascend, so what the first and the last begin with, all do. */
static bool find_prefix(struct sorted *sorted)
{
    struct sst_place place;
    bytes first, last;

    if (!sst_index_at(&sorted->index, 0, &first, &place) ||
        !sst_index_at(&sorted->index, sorted->index.count - 1, &last, &place))
        return false;
    sorted->prefix = bytes_of(first.data, shared_len(first, last));
    return true;
}

/* ---- finding by numbers --------------------------------------------------------------------------- */

/* Numbers in keys have seven bits in each byte and the eighth one set; the key of a block may have been cut off behind any
 * of them. Of such bytes greater ones never have a lesser number. False: they are none. */
static bool read_number(uint64_t half, uint64_t *out)
{
    const uint64_t given = (half >> 7 & UINT64_C(0x0101010101010101)) * 0xFF, rest = ~given;

    *out = 0;
    if ((half & rest) != 0 || (rest & (rest + 1)) != 0)
        return false;
    half &= UINT64_C(0x7F7F7F7F7F7F7F7F);
    half = (half & UINT64_C(0x007F007F007F007F)) | (half & UINT64_C(0x7F007F007F007F00)) >> 1;
    half = (half & UINT64_C(0x00003FFF00003FFF)) | (half & UINT64_C(0x3FFF00003FFF0000)) >> 2;
    *out = (half & UINT64_C(0x000000000FFFFFFF)) | (half & UINT64_C(0x0FFFFFFF00000000)) >> 4;
    return true;
}

/* A key as runs have it. */
struct numbered {
    uint64_t front, number;
};

static bool part_key(const struct sorted *sorted, bytes key, struct numbered *out)
{
    const size_t from = sorted->prefix.len, at = sorted->number_at;
    const bytes front = bytes_from(bytes_of(key.data, key.len < at ? key.len : at), from);
    uint64_t head[2];

    read_head(front, head);
    out->front = head[0];
    read_head(bytes_from(key, at), head);
    return read_number(head[0], &out->number);
}

/* Numbers have eight bytes at the most, and so has what is before them. */
static bool find_numbers(struct sorted *sorted)
{
    struct sst_place place;
    bytes key;

    for (uint32_t i = 0; i < sorted->index.count; i++) {
        if (!sst_index_at(&sorted->index, i, &key, &place))
            return false;
        if (key.len > sorted->key_len)
            sorted->key_len = key.len;
    }
    sorted->number_at = sorted->key_len > 8 ? sorted->key_len - 8 : 0;
    return sorted->number_at <= sorted->prefix.len + 8;
}

/* Adds a block to the last run, or begins another one. False: there are too many. */
static bool add_to_runs(struct sorted *sorted, uint32_t at, const struct numbered *key)
{
    struct sorted_run *run = &sorted->runs[sorted->run_count];

    if (at > 0 && run[-1].front == key->front) {
        run[-1].end = at + 1;
        return true;
    }
    if (sorted->run_count == RUNS_MAX)
        return false;
    *run = (struct sorted_run){
        .front = key->front, .first = key->number, .begin = at, .end = at + 1
    };
    sorted->run_count++;
    return true;
}

/* False: it is not as it has to be. */
static bool add_spot(struct sorted *sorted, uint32_t at)
{
    struct sorted_spot *spot = &sorted->spots[at];
    struct sst_place place;
    struct numbered parts;
    bytes key;

    if (!sst_index_at(&sorted->index, at, &key, &place) || !part_key(sorted, key, &parts) ||
        !add_to_runs(sorted, at, &parts))
        return false;
    const uint64_t number = parts.number - sorted->runs[sorted->run_count - 1].first;
    const uint64_t end = place.offset + place.len + SST_TRAILER_BYTES;
    if (number > UINT32_MAX || end > UINT32_MAX || (at > 0 && place.offset != spot->offset) ||
        (number && number < spot[-1].number))
        return false;
    spot->number = (uint32_t)number;
    spot->offset = (uint32_t)place.offset;
    spot[1].offset = (uint32_t)end;
    return true;
}

static bool make_spots(struct sorted *sorted)
{
    const uint32_t count = sorted->index.count;
    bool is_good = find_numbers(sorted);

    if (!is_good)
        return true;
    sorted->runs = memory_take_zeroed(RUNS_MAX, sizeof(*sorted->runs));
    sorted->spots = memory_take_zeroed((size_t)count + 1, sizeof(*sorted->spots));
    if (!sorted->runs || !sorted->spots)
        return false;
    for (uint32_t i = 0; i < count && is_good; i++)
        is_good = add_spot(sorted, i);
    if (!is_good) {
        memory_give(sorted->spots);
        sorted->spots = NULL;
        sorted->run_count = 0;
    }
    for (uint32_t i = 0; i < sorted->run_count; i++) {
        struct sorted_run *run = &sorted->runs[i];
        const uint32_t last = sorted->spots[run->end - 1].number;
        run->blocks_per_number = last ? (run->end - run->begin - 1) / (double)last : 0;
    }
    return true;
}

/* The block of the run that is as far behind another one, or its first or last one. */
static uint32_t step_from(const struct sorted_run *run, uint32_t at, double blocks)
{
    const double place = (double)at + blocks;

    if (place <= run->begin)
        return run->begin;
    return place >= run->end - 1 ? run->end - 1 : (uint32_t)place;
}

/* The first block whose number is not below, or the one behind the run. False: it is not near the place that was computed. */
static bool find_spot(const struct sorted_spot *spots, const struct sorted_run *run,
                      uint32_t number, uint32_t *out)
{
    enum { TRIES = 3 };
    uint32_t at = step_from(run, run->begin, number * run->blocks_per_number);

    for (int i = 0; i < TRIES; i++) {
        const uint32_t low = at - run->begin > NEAR ? at - NEAR : run->begin;
        const uint32_t high = run->end - at > NEAR ? at + NEAR : run->end;
        uint32_t below = 0;
        for (uint32_t k = low; k < high; k++)
            below += spots[k].number < number;
        /* Before the first of them is one that is below, or another run; the same behind the last. */
        if ((below > 0 || low == run->begin) && (below < high - low || high == run->end)) {
            *out = low + below;
            return true;
        }
        at = step_from(run, at, ((double)number - spots[at].number) * run->blocks_per_number);
    }
    return false;
}

/* Documents beside each other are of similar size: so a key is as far in its block as its number is between the last ones of
 * the block before and of this one. */
static unsigned portion_between(uint32_t before, uint32_t number, uint32_t last)
{
    enum { MARGIN = SORTED_PORTIONS / 16 };
    const uint64_t portion = (uint64_t)(number - before) * SORTED_PORTIONS / (last - before) +
                             MARGIN;

    return portion < SORTED_PORTIONS ? (unsigned)portion : SORTED_PORTIONS;
}

/* Where the number is counted, and how far from its first one. NULL: it has to be found in another way. */
static const struct sorted_run *find_run(const struct sorted *sorted, bytes key, uint32_t *number)
{
    const struct sorted_run *run = sorted->runs, *end = run + sorted->run_count;
    struct numbered parts;

    if (sorted->run_count == 0 || key.len != sorted->key_len || !part_key(sorted, key, &parts))
        return NULL;
    while (run < end && run->front != parts.front)
        run++;
    if (run == end || parts.number < run->first || parts.number - run->first > UINT32_MAX)
        return NULL;
    *number = (uint32_t)(parts.number - run->first);
    return run;
}

/* The key of a block that was cut off has the number of one with zeros in its place, which lies in the next block. */
static bool is_ambiguous(const struct sorted_run *run, const struct sorted_spot *spot,
                         uint32_t number)
{
    return spot->number == number && (run->first + number) % 128 == 0;
}

/* False: it has to be found in another way. */
static bool find_by_number(const struct sorted *sorted, bytes key, struct sorted_hit *out)
{
    const struct sorted_spot *spots = sorted->spots;
    uint32_t at, number;

    const struct sorted_run *run = find_run(sorted, key, &number);
    if (!run)
        return false;
    if (!find_spot(spots, run, number, &at) || at == run->end ||
        is_ambiguous(run, &spots[at], number))
        return false;
    out->place.offset = spots[at].offset;
    out->place.len = spots[at + 1].offset - spots[at].offset - SST_TRAILER_BYTES;
    out->portion = at == run->begin || spots[at].number == spots[at - 1].number
                       ? SORTED_PORTIONS
                       : portion_between(spots[at - 1].number, number, spots[at].number);
    return true;
}

/* ---- finding by heads ----------------------------------------------------------------------------- */

static bool read_blocks(struct sorted *sorted)
{
    const uint32_t count = sorted->index.count;
    struct sst_place place;
    bytes key;

    if (count == 0)
        return true;
    sorted->head_count = count / SORTED_STRIDE;
    sorted->blocks = memory_take_zeroed(count, sizeof(*sorted->blocks));
    sorted->heads = memory_take_zeroed(sorted->head_count, sizeof(*sorted->heads));
    if (!sorted->blocks || !sorted->heads || !find_prefix(sorted))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct sorted_block *block = &sorted->blocks[i];
        if (!sst_index_at(&sorted->index, i, &key, &place) ||
            !bytes_starts_with(key, sorted->prefix))
            return false;
        block->offset = place.offset;
        block->len = place.len;
        read_head(bytes_from(key, sorted->prefix.len), block->head);
        if (i > 0 && is_below(block->head, block[-1].head))
            return false;
        if (i % SORTED_STRIDE == SORTED_STRIDE - 1)
            memcpy(sorted->heads[i / SORTED_STRIDE].half, block->head, sizeof(block->head));
    }
    return make_spots(sorted);
}

/* The first block whose head is not below. */
static uint32_t find_block(const struct sorted *sorted, const uint64_t head[2])
{
    uint32_t low = 0, high = sorted->head_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_below(sorted->heads[middle].half, head))
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = low * SORTED_STRIDE;
    const uint32_t end = sorted->index.count - at < SORTED_STRIDE ? sorted->index.count
                                                                  : at + SORTED_STRIDE;
    uint32_t below = 0;
    for (uint32_t i = at; i < end; i++)
        below += is_below(sorted->blocks[i].head, head);
    return at + below;
}

/* From the first block whose head is not below: those with the same head are told apart by their whole keys. False if that
 * cannot be told. */
static bool find_alike(const struct sorted *sorted, bytes key, const uint64_t head[2], uint32_t at,
                       uint32_t *out)
{
    const uint32_t count = sorted->index.count;
    struct sst_blocks alike = { at, at };

    for (uint32_t step = 1; alike.high < count && !is_below(head, sorted->blocks[alike.high].head);
         step *= 2)
        alike.high = count - alike.high > step ? alike.high + step : count;
    return sst_index_find(&sorted->index, key, alike, out);
}

/* See portion_between(). */
static unsigned portion_of(const struct sorted *sorted, uint32_t at, const uint64_t head[2])
{
    enum { MARGIN = SORTED_PORTIONS / 16 };

    if (at == 0)
        return SORTED_PORTIONS;
    const uint64_t *before = sorted->blocks[at - 1].head, *last = sorted->blocks[at].head;
    const int half = before[0] == last[0] ? 1 : 0;
    if (before[half] == last[half])
        return SORTED_PORTIONS;
    const uint64_t span = (last[half] - before[half]) / SORTED_PORTIONS + 1;
    const uint64_t portion = (head[half] - before[half]) / span + MARGIN;
    return portion < SORTED_PORTIONS ? (unsigned)portion : SORTED_PORTIONS;
}

void sorted_expect(const struct sorted *sorted, bytes key)
{
    uint32_t number;

    if (!bytes_starts_with(key, sorted->prefix))
        return;
    const struct sorted_run *run = find_run(sorted, key, &number);
    if (!run)
        return;
    const uint32_t at = step_from(run, run->begin, number * run->blocks_per_number);
    __builtin_prefetch(&sorted->spots[at > NEAR ? at - NEAR : 0]);
    __builtin_prefetch(&sorted->spots[run->end - at > NEAR ? at + NEAR : run->end]);
}

enum sorted_find sorted_find(const struct sorted *sorted, bytes key, struct sorted_hit *out)
{
    const bytes prefix = sorted->prefix;
    uint64_t head[2] = { 0 };
    uint32_t at = 0;

    if (!bytes_starts_with(key, prefix)) {
        if (bytes_compare(key, prefix) > 0)
            return SORTED_NOWHERE;
    } else {
        if (find_by_number(sorted, key, out))
            return SORTED_IN_BLOCK;
        read_head(bytes_from(key, prefix.len), head);
        at = find_block(sorted, head);
        if (!find_alike(sorted, key, head, at, &at))
            return SORTED_UNTOLD;
    }
    if (at >= sorted->index.count)
        return SORTED_NOWHERE;
    out->place.offset = sorted->blocks[at].offset;
    out->place.len = sorted->blocks[at].len;
    out->portion = portion_of(sorted, at, head);
    return SORTED_IN_BLOCK;
}

bool sorted_seek(const struct sorted *sorted, bytes key, uint32_t *out)
{
    const uint32_t count = sorted->index.count;
    uint64_t head[2];

    *out = 0;
    if (count == 0)
        return true;
    if (!bytes_starts_with(key, sorted->prefix)) {
        *out = bytes_compare(key, sorted->prefix) > 0 ? count : 0;
        return true;
    }
    read_head(bytes_from(key, sorted->prefix.len), head);
    return find_alike(sorted, key, head, find_block(sorted, head), out);
}

/* ---- opening -------------------------------------------------------------------------------------- */

/* The blocks that we care for beside the rows. */
struct directory {
    struct sst_place facts, ranges;
    bool has_facts, has_ranges;
};

static bool walk_directory(bytes content, struct directory *out)
{
    struct sst_walk walk;
    enum sst_step step;
    bytes name, value;

    *out = (struct directory){ 0 };
    if (!sst_walk_begin(&walk, content))
        return false;
    while ((step = sst_walk_next(&walk, &name, &value)) == SST_ENTRY) {
        if (bytes_is_text(name, "rocksdb.properties")) {
            out->has_facts = true;
            if (!sst_read_place(value, &out->facts))
                return false;
        } else if (bytes_is_text(name, "rocksdb.range_del")) {
            out->has_ranges = true;
            if (!sst_read_place(value, &out->ranges))
                return false;
        }
    }
    return step == SST_END && out->has_facts;
}

static bool read_directory(const struct sorted *sorted, struct sst_place place,
                           struct directory *out)
{
    bytes content;
    uint8_t *room = read_block(sorted, place, &content);
    const bool is_good = room && walk_directory(content, out);

    memory_give(room);
    return is_good;
}

static bool read_facts(const struct sorted *sorted, struct sst_place place, struct sst_facts *out)
{
    bytes content;
    uint8_t *room = read_block(sorted, place, &content);
    const bool is_good = room && sst_read_facts(content, out) && out->is_readable;

    memory_give(room);
    return is_good;
}

static bool read_ranges(struct sorted *sorted, struct sst_place place)
{
    struct sst_walk walk;
    enum sst_step step;
    bytes content, key, value;

    sorted->ranges_room = read_block(sorted, place, &content);
    sorted->ranges = memory_take_zeroed(RANGES_MAX, sizeof(*sorted->ranges));
    if (!sorted->ranges_room || !sorted->ranges || !sst_walk_begin(&walk, content))
        return false;
    while ((step = sst_walk_next(&walk, &key, &value)) == SST_ENTRY) {
        /* A key that was put together lies in the walk, and is gone with the next one. */
        if (key.len < SST_SEQ_BYTES || key.data == walk.key || sorted->range_count == RANGES_MAX)
            return false;
        sorted->ranges[sorted->range_count++] = (struct sorted_range){
            .start = bytes_of(key.data, key.len - SST_SEQ_BYTES), .end = value
        };
    }
    return step == SST_END;
}

static bool read_all(struct sorted *sorted)
{
    uint8_t foot_bytes[SST_FOOT_BYTES];
    struct directory directory;
    struct sst_facts facts;
    struct sst_foot foot;
    bytes content;

    const off_t size = lseek(sorted->file, 0, SEEK_END);
    if (size < (off_t)sizeof(foot_bytes) ||
        !sorted_read(sorted, (uint64_t)size - sizeof(foot_bytes), foot_bytes, sizeof(foot_bytes)) ||
        !sst_read_foot(bytes_of(foot_bytes, sizeof(foot_bytes)), &foot) ||
        !read_directory(sorted, foot.directory, &directory) ||
        !read_facts(sorted, directory.facts, &facts) ||
        (directory.has_ranges && !read_ranges(sorted, directory.ranges)))
        return false;
    sorted->index_room = read_block(sorted, foot.index, &content);
    return sorted->index_room && sst_index_begin(&sorted->index, content, facts.has_seq_in_index) &&
           read_blocks(sorted);
}

/* ---- life ----------------------------------------------------------------------------------------- */

struct sorted *sorted_open(const char *path)
{
    struct sorted *sorted = memory_take_zeroed(1, sizeof(*sorted));

    if (!sorted)
        return NULL;
    atomic_store(&sorted->holders, 1);
    const char *name = strrchr(path, '/');
    sorted->number = strtoull(name ? name + 1 : path, NULL, 10);
    /* Nobody wants to know when a file was read last; only its owner may say so. */
    sorted->file = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME);
    if (sorted->file < 0)
        sorted->file = open(path, O_RDONLY | O_CLOEXEC);
    if (sorted->file >= 0 && read_all(sorted))
        return sorted;
    sorted_let_go(sorted);
    return NULL;
}

void sorted_hold(struct sorted *sorted)
{
    atomic_fetch_add(&sorted->holders, 1);
}

void sorted_let_go(struct sorted *sorted)
{
    if (!sorted || atomic_fetch_sub(&sorted->holders, 1) > 1)
        return;
    if (sorted->tally)
        atomic_fetch_sub(sorted->tally, 1);
    if (sorted->file >= 0)
        close(sorted->file);
    memory_give(sorted->blocks);
    memory_give(sorted->heads);
    memory_give(sorted->runs);
    memory_give(sorted->spots);
    memory_give(sorted->index_room);
    memory_give(sorted->ranges_room);
    memory_give(sorted->ranges);
    memory_give(sorted);
}

bool sorted_suspects(const struct sorted *sorted, bytes key)
{
    for (size_t i = 0; i < sorted->range_count; i++) {
        if (bytes_compare(sorted->ranges[i].start, key) <= 0 &&
            bytes_compare(key, sorted->ranges[i].end) < 0)
            return true;
    }
    return false;
}
