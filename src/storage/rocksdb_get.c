/* Raw get: documents from RocksDB's files, one or several.
 *
 * RocksDB takes a get through its memory tables, its levels, a filter, an index, a cache and a block, most of which is not
 * in the cache of the processor when it comes to it. Documents lie in files by the order of their writes, so mostly there is
 * one file, one search in its index, and one block to be read, unpacked and searched (rocksdb_version.c).
 *
 * The answer is the youngest version of the key that is not younger than the view, among the files that hold the key.
 * It counts if it is a value and nothing that the files may not have yet can be another version of it: the key is not among
 * those that were deleted lately (rocksdb_graves.c), and in none of the ranges that a file says were
 * deleted; what was put once is put again only behind that (storage.h). Everything else, a row that is not there included, is
 * RocksDB's to answer.
 *
 * Without a view the youngest version of all is asked for. A list of files that has seen no turn of the graves knows every
 * deletion that is not in its files, so what is not among those is as it was at that moment, or later; whoever has deleted since
 * has done so while the get was under way.
 *
 * Several documents that are wanted together were often written together, too. So it is looked first where each of them lies; blocks
 * that lie one behind the other are read at once, and one in which several lie is unpacked once. Only what lies in one file is
 * found this way.
 *
 * Threads: any. */
#include "storage/rocksdb_version.h"

enum {
    SOURCES_MAX = 8,          /* files that hold the key */
    READ_BYTES_MAX = 16 << 10 /* of blocks one behind the other */
};

/* ---- files ------------------------------------------------------------------------------------------- */

/* The first file that begins behind the key. */
static size_t file_behind(const struct raw_files *list, bytes key)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (bytes_compare(list->files[middle].first, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Walks the files that may hold the key, from behind. */
struct file_walk {
    struct raw_files *list;
    bytes key;
    size_t at;
};

static struct file_walk file_walk_of(struct raw_files *list, bytes key)
{
    return (struct file_walk){ .list = list, .key = key, .at = file_behind(list, key) };
}

/* NULL: there are no more. */
static struct raw_file *file_walk_next(struct file_walk *walk)
{
    while (walk->at > 0) {
        struct raw_file *file = &walk->list->files[--walk->at];
        if (bytes_compare(file->reach, walk->key) < 0)
            break;
        if (bytes_compare(file->last, walk->key) >= 0)
            return file;
    }
    walk->at = 0;
    return NULL;
}

static struct raw_files *list_of(struct rocksdb_storage *rocks, struct raw_view *view)
{
    struct raw_files *list = atomic_load_explicit(&view->files[SPACE_BODIES], memory_order_acquire);

    return list ? list
                : raw_view_keep(view, SPACE_BODIES,
                                raw_files_for_get(&rocks->shelves[SPACE_BODIES]));
}

/* ---- one --------------------------------------------------------------------------------------------- */

/* What the file has of the key. False if that cannot be told. */
static bool look_in(struct raw_blocks *blocks, const struct sorted *sorted, bytes key, uint64_t seq,
                    struct version *out)
{
    struct sorted_hit hit;

    *out = (struct version){ 0 };
    if (sorted_suspects(sorted, key))
        return false;
    const enum sorted_find found = sorted_find(sorted, key, &hit);
    if (found == SORTED_NOWHERE)
        return true;
    if (found == SORTED_IN_BLOCK && version_in_block(blocks, sorted, &hit, key, seq, out))
        return true;
    version_let_go(out);
    return false;
}

/* The youngest version in all files. False if that cannot be told; else what holds it is the caller's. */
static bool look_in_all(struct raw_shelf *shelf, struct raw_files *list, bytes key, uint64_t seq,
                        struct version *best)
{
    struct file_walk walk = file_walk_of(list, key);
    unsigned sources = 0;
    struct raw_file *file;
    bool is_known = true;

    *best = (struct version){ 0 };
    while (is_known && (file = file_walk_next(&walk)) != NULL) {
        struct version version;
        struct sorted *sorted = sources++ < SOURCES_MAX ? raw_file_keep(shelf, file) : NULL;
        is_known = sorted && look_in(shelf->rocks->body_blocks, sorted, key, seq, &version);
        if (!is_known)
            break;
        const bool is_better = version.is_there && (!best->is_there || version.seq > best->seq);
        version_let_go(is_better ? best : &version);
        if (is_better)
            *best = version;
    }
    if (!is_known)
        version_let_go(best);
    return is_known;
}

/* What the files of the list have of the key, as far as `seq`. */
static bool get_from(struct raw_shelf *shelf, struct raw_files *list, bytes key, uint64_t seq,
                     struct storage_value *out)
{
    struct version version;

    if (graves_suspect(list->graves, key) || !look_in_all(shelf, list, key, seq, &version))
        return false;
    if (!version.is_there || version.kind != SST_VALUE) {
        version_let_go(&version);
        return false;
    }
    version_give(&version, out);
    return true;
}

bool raw_get(struct rocksdb_storage *rocks, struct raw_view *view, bytes key,
             struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];

    if (!view->has_seq || !shelf->graves)
        return false;
    struct raw_files *list = list_of(rocks, view);
    return list && get_from(shelf, list, key, view->seq, out);
}

bool raw_get_newest(struct rocksdb_storage *rocks, bytes key, struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];
    struct raw_files *list = shelf->graves ? raw_files_for_get(shelf) : NULL;
    const bool is_there = list && get_from(shelf, list, key, UINT64_MAX, out);

    raw_files_let_go(list);
    return is_there;
}

/* ---- several ------------------------------------------------------------------------------------------ */

/* A document that is wanted, and where it lies. */
struct wish {
    bytes key;
    struct sorted *sorted; /* NULL: it is not looked for */
    struct sorted_hit hit;
    struct storage_value *out;
};

struct wishes {
    struct raw_blocks *blocks;
    uint64_t seq;
    struct wish items[RAW_GETS_MAX];
    size_t count;
};

/* Where the block ends, with its trailer. */
static uint64_t end_of(const struct sst_place *place)
{
    return place->offset + place->len + SST_TRAILER_BYTES;
}

/* The only file that may hold the key, or none. */
static struct sorted *only_file(struct raw_shelf *shelf, struct raw_files *list, bytes key)
{
    struct file_walk walk = file_walk_of(list, key);
    struct raw_file *file = graves_suspect(list->graves, key) ? NULL : file_walk_next(&walk);

    return file && !file_walk_next(&walk) ? raw_file_keep(shelf, file) : NULL;
}

/* What one search after the other would wait for comes at the same time. */
static void find_places(struct raw_shelf *shelf, struct raw_files *list, struct wishes *wishes)
{
    for (size_t i = 0; i < wishes->count; i++)
        graves_expect(list->graves, wishes->items[i].key);
    for (size_t i = 0; i < wishes->count; i++) {
        struct wish *wish = &wishes->items[i];
        wish->sorted = only_file(shelf, list, wish->key);
        if (wish->sorted)
            sorted_expect(wish->sorted, wish->key);
    }
    for (size_t i = 0; i < wishes->count; i++) {
        struct wish *wish = &wishes->items[i];
        if (wish->sorted && (sorted_suspects(wish->sorted, wish->key) ||
                             sorted_find(wish->sorted, wish->key, &wish->hit) != SORTED_IN_BLOCK))
            wish->sorted = NULL;
    }
}

/* By file and block; those that are not looked for stand behind. */
static bool is_before(const struct wish *a, const struct wish *b)
{
    if (a->sorted != b->sorted)
        return (uintptr_t)a->sorted > (uintptr_t)b->sorted;
    return a->sorted && a->hit.place.offset < b->hit.place.offset;
}

static void sort(struct wishes *wishes)
{
    for (size_t i = 1; i < wishes->count; i++) {
        const struct wish wish = wishes->items[i];
        size_t at = i;
        for (; at > 0 && is_before(&wish, &wishes->items[at - 1]); at--)
            wishes->items[at] = wishes->items[at - 1];
        wishes->items[at] = wish;
    }
    while (wishes->count > 0 && !wishes->items[wishes->count - 1].sorted)
        wishes->count--;
}

/* Those of one block. */
struct stretch {
    struct wish *items;
    size_t count;
};

static struct stretch stretch_at(struct wishes *wishes, size_t first)
{
    struct wish *items = &wishes->items[first];
    size_t count = 1;

    while (first + count < wishes->count && !is_before(items, &items[count]))
        count++;
    return (struct stretch){ items, count };
}

/* Gives the version, unless it has no value. */
static void fulfil(struct wish *wish, const struct version *version)
{
    if (version->is_there && version->kind == SST_VALUE)
        version_give(version, wish->out);
    else
        version_let_go(version);
}

/* One of the documents in the content that the room or the block holds. */
static void search_shared(const struct wishes *wishes, struct wish *wish, bytes content,
                          struct raw_room *room, struct raw_block *block)
{
    struct version version = { .room = room, .block = block };

    if (room)
        raw_room_hold(room);
    else
        raw_block_hold(block);
    if (!version_in_content(content, wish->key, wishes->seq, &version))
        version.is_there = false;
    fulfil(wish, &version);
}

static void unpack_for_all(const struct wishes *wishes, const struct stretch *stretch,
                           const struct stored_block *block)
{
    const struct wish *wish = stretch->items;
    const struct raw_block_id id = { wish->sorted->number, wish->hit.place.offset };
    struct raw_room *room = raw_room_take(wishes->blocks, block->content_len);
    bytes content;

    if (room && stored_block_unpack(block, room->data, &content)) {
        for (size_t i = 0; i < stretch->count; i++)
            search_shared(wishes, &stretch->items[i], content, room, NULL);
        raw_blocks_offer(wishes->blocks, id, content);
    }
    raw_room_leave(room);
}

static void unpack_for_one(const struct wishes *wishes, struct wish *wish,
                           const struct stored_block *block)
{
    struct version version = { 0 };

    if (!version_in_stored(wishes->blocks, block, wish->hit.portion, wish->key, wishes->seq,
                           &version))
        version.is_there = false;
    fulfil(wish, &version);
}

static void search_stored(const struct wishes *wishes, const struct stretch *stretch, bytes stored)
{
    struct stored_block block;

    if (!stored_block_check(stored, &block))
        return;
    if (stretch->count > 1)
        unpack_for_all(wishes, stretch, &block);
    else
        unpack_for_one(wishes, stretch->items, &block);
}

/* How many of them, from that one on, lie in blocks one behind the other, and where the last one ends. */
static size_t count_together(const struct wishes *wishes, size_t first, uint64_t *end_out)
{
    const struct wish *begin = &wishes->items[first];
    uint64_t end = end_of(&begin->hit.place);
    size_t count = 1;

    for (; first + count < wishes->count; count++) {
        const struct wish *wish = &begin[count];
        const uint64_t next = end_of(&wish->hit.place);
        const bool is_near = wish->hit.place.offset == end || next == end;
        if (wish->sorted != begin->sorted || !is_near ||
            next - begin->hit.place.offset > READ_BYTES_MAX)
            break;
        end = next;
    }
    *end_out = end;
    return count;
}

/* Reads the blocks of so many of them, which lie one behind the other, and looks there. */
static void read_together(struct wishes *wishes, size_t first, size_t count, uint64_t end)
{
    const struct wish *begin = &wishes->items[first];
    const uint64_t offset = begin->hit.place.offset;
    const size_t len = (size_t)(end - offset);
    struct raw_room *room = raw_room_take(wishes->blocks, len);

    if (room && sorted_read(begin->sorted, offset, room->data, len)) {
        for (size_t i = 0; i < count;) {
            const struct stretch stretch = stretch_at(wishes, first + i);
            const struct sst_place *place = &stretch.items->hit.place;
            search_stored(wishes, &stretch,
                          bytes_of(room->data + (place->offset - offset),
                                   (size_t)place->len + SST_TRAILER_BYTES));
            i += stretch.count;
        }
    }
    raw_room_leave(room);
}

/* Looks for the one, and for some behind it; returns for how many. */
static size_t look_for(struct wishes *wishes, size_t first)
{
    const struct stretch stretch = stretch_at(wishes, first);
    const struct wish *wish = stretch.items;
    const struct raw_block_id id = { wish->sorted->number, wish->hit.place.offset };
    struct raw_block *block = raw_blocks_find(wishes->blocks, id);
    size_t count = stretch.count;
    uint64_t end;

    if (!block) {
        count = count_together(wishes, first, &end);
        read_together(wishes, first, count, end);
    }
    for (size_t i = 0; block && i < count; i++)
        search_shared(wishes, &stretch.items[i], block->content, NULL, block);
    raw_block_let_go(block);
    return count;
}

void raw_get_some(struct rocksdb_storage *rocks, struct raw_view *view, const bytes *keys,
                  size_t count, struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];
    struct wishes wishes = { .blocks = rocks->body_blocks, .seq = view->seq };
    struct raw_files *list = view->has_seq && shelf->graves ? list_of(rocks, view) : NULL;

    ASSERT(count <= RAW_GETS_MAX);
    if (!list)
        return;
    wishes.count = count;
    for (size_t i = 0; i < count; i++) {
        wishes.items[i].key = keys[i];
        wishes.items[i].out = &out[i];
    }
    find_places(shelf, list, &wishes);
    sort(&wishes);
    for (size_t i = 0; i < wishes.count;)
        i += look_for(&wishes, i);
}
