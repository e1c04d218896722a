/* Find near: the nearest documents first, ring by ring.
 *
 * Around the point that is asked for lie rings, each beginning where the one before it ends. The cells of a ring are
 * walked, those of its documents that really are in it are sorted by their distance, and then the next ring is
 * looked at. A ring in which little was found is followed by a wider one, so that a few rings suffice wherever the
 * documents are; one that holds more than memory does is cut by the sorter, and goes on behind the position. The
 * position has the distance of the last document, where the next ring begins, and its key, which tells documents at
 * the same distance apart.
 *
 * Threads: belongs to its find. Start reading at find_near_plan(). */
#include "query/find_parts.h"

#include <math.h>

/* Rows of a ring below which the next one is wider, and above which it is narrower. */
enum { FEW_ROWS = 100, MANY_ROWS = 1000 };
/* No ring is narrower than this part of the first one; the sorter keeps order in those that hold more. */
enum { NARROWING_MOST = 64 };
/* Documents of a ring that are remembered because they have several entries; more of them come twice, and are told
 * apart when they are sorted. */
enum { SEEN_MOST = 8192 };
/* The width of the first ring: metres on the ball, and a part of the plane. */
#define FIRST_METRES 250.0
#define FIRST_PART (1.0 / 4096)

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static double number_of(uint64_t bits)
{
    double number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* Distances are not negative, so that their bits are in their order. */
status find_near_place(struct arena *arena, double distance, bytes *out)
{
    struct buffer place = buffer_in(arena);

    buffer_append_u64(&place, bits_of(distance + 0.0));
    return buffer_finish(&place, out);
}

/* width(8), then as for a sorter: length(4) of the place, the place, the key. */
bool find_near_resume(struct find *f, struct reader *position)
{
    double width = number_of(reader_u64(position));

    f->after = position->rest;
    bool is_place = reader_u32(position) == sizeof(uint64_t);
    f->ring.from = number_of(reader_u64(position));
    f->ring.to = f->ring.from + width;
    return is_place && !position->is_failed && isfinite(width) && width > 0 && f->ring.from >= 0 &&
           isfinite(f->ring.from);
}

status find_near_keep(struct find *f, const struct sort_entry *last)
{
    f->position.len = 0;
    buffer_append_u64(&f->position, bits_of(f->ring.to - f->ring.from));
    buffer_append_u32(&f->position, (uint32_t)last->order_key.len);
    buffer_append(&f->position, last->order_key);
    buffer_append(&f->position, last->key);
    return f->position.is_failed ? arena_exhausted(f->home) : STATUS_OK;
}

status find_near_begin(struct find *f)
{
    const struct geometry_wish *wish = f->near->geometry;
    struct cell_grid grid = { 0 };

    find_near_grid(f->plan.index, f->near, &grid);
    f->farthest = fmin(wish->most, geometry_farthest(&grid, wish));
    double width = wish->geometry.space == SPACE_BALL ? FIRST_METRES / wish->unit
                                                      : (grid.high - grid.low) * FIRST_PART;
    f->least_width = width / NARROWING_MOST;
    if (f->ring.to > 0)
        f->ring.to = fmax(f->ring.to, f->ring.from + f->least_width);
    else
        f->ring = (struct geometry_ring){ wish->least, wish->least + width };
    return STATUS_OK;
}

/* The way to the documents of the ring. */
status find_near_plan(struct find *f)
{
    struct find_request wanted = f->wanted;
    const struct index *index = f->plan.index;

    if (!f->ring_memory)
        f->ring_memory = arena_open(LIMIT_QUERY_ROW_BYTES);
    if (!f->ring_memory)
        return status_of(OUT_OF_MEMORY, "there is no memory to find documents");
    arena_reset(f->ring_memory);
    f->seen = (struct find_seen){ 0 };
    f->ring.to = fmin(f->ring.to, f->farthest);
    wanted.ring = &f->ring;
    TRY(find_plan_make(&wanted, f->ring_memory, index, &f->plan));
    f->at = 0;
    return STATUS_OK;
}

/* ---- documents with several entries ----------------------------------------------------------------- */

static bool is_key(bytes kept, struct document_key key)
{
    return kept.len == key.partition.len + key.id.len && bytes_starts_with(kept, key.partition) &&
           bytes_equal(bytes_from(kept, key.partition.len), key.id);
}

static uint64_t hash_of(bytes first, bytes second)
{
    return bytes_hash(second, bytes_hash(first, random_salt()));
}

/* The place of a key, or where it belongs. */
static size_t find_seen(const struct find_seen *seen, struct document_key key)
{
    size_t at = (size_t)hash_of(key.partition, key.id) & (SEEN_MOST * 2 - 1);

    while (seen->keys[at].len > 0 && !is_key(seen->keys[at], key))
        at = (at + 1) & (SEEN_MOST * 2 - 1);
    return at;
}

status find_near_look(struct find *f, bool *is_new_out)
{
    struct find_seen *seen = &f->seen;
    struct buffer copy = buffer_in(f->ring_memory);

    *is_new_out = true;
    if (!f->plan.has_many)
        return STATUS_OK;
    if (!seen->keys)
        TRY(ARENA_NEW(f->ring_memory, SEEN_MOST * 2, &seen->keys));
    size_t at = find_seen(seen, f->row.key);
    *is_new_out = seen->keys[at].len == 0;
    if (!*is_new_out || seen->count == SEEN_MOST)
        return STATUS_OK;
    seen->count++;
    buffer_append(&copy, f->row.key.partition);
    buffer_append(&copy, f->row.key.id);
    return buffer_finish(&copy, &seen->keys[at]);
}

bool find_near_is_double(const struct find *f)
{
    const struct sort_entry *entry = &f->sorter.entries[f->given];

    return f->near && f->given > 0 && bytes_equal(entry->key, entry[-1].key) &&
           bytes_equal(entry->order_key, entry[-1].order_key);
}

/* ---- rings ------------------------------------------------------------------------------------------ */

bool find_near_holds(const struct find *f, double distance)
{
    return distance >= f->ring.from &&
           (distance < f->ring.to || (distance == f->ring.to && f->ring.to >= f->farthest));
}

bool find_near_advance(struct find *f)
{
    double width = f->ring.to - f->ring.from;

    if (f->ring.to >= f->farthest)
        return false;
    if (f->sorter.count < FEW_ROWS)
        width *= f->sorter.count ? 2 : 4;
    else if (f->sorter.count > MANY_ROWS)
        width /= 2;
    f->ring = (struct geometry_ring){ f->ring.to, f->ring.to + fmax(width, f->least_width) };
    sorter_close(&f->sorter);
    f->is_sorter_open = f->is_collected = false;
    f->given = 0;
    return true;
}

bool find_is_near(const struct find *f)
{
    return f->near != NULL;
}
