/* Raw: stretches of documents and of index rows as they lie in RocksDB's files.
 *
 * RocksDB's iterators take a row through four layers; reading the blocks themselves takes a third of that, and to find the
 * first row of a short stretch a fourth. What a
 * view shows is put together here from the same parts: the sorted files (rocksdb_table.c), and an iterator over the memory
 * tables alone. Rows come from all of them by key. Of the versions of a key that are not younger than the view the
 * youngest counts; if it is a deletion, nothing does.
 *
 * What lies in memory tables is younger than what lies in files, but their iterator shows only the living. Deletions
 * that are still in memory are known by other means (rocksdb_graves.c), and so are ranges that were deleted; a row that
 * one of them may mean is looked up by RocksDB before it is given.
 *
 * Where it is known that nothing is in memory (rocksdb_files.c), the files are all, and RocksDB is not asked for anything.
 * Else: that files and memory tables are those of one instant is told by the number that RocksDB gives to each arrangement of
 * them: it must be the same before the iterator was made and after the files were listed. The iterator keeps that
 * arrangement alive, and with it all its files, until the scan is closed. The view is older than that, and
 * RocksDB keeps everything that it shows.
 *
 * Whatever is not as expected (a file of another form, too many files over one key, a damaged block) means RAW_LOST, and
 * the caller goes on with an iterator where this one stood; so what is damaged is told by RocksDB.
 *
 * Keeps: gives exactly the rows of an iterator over the view.
 * Threads: any; a scan belongs to one at a time. */
#include "storage/rocksdb_raw.h"

#include "storage/rocksdb_sync.h"
#include "storage/rocksdb_table.h"

enum {
    MEMORY_TABLES = 3, /* ReadTier: nothing but memory tables */
    TRIES_MAX = 4,     /* to see one arrangement of files */
    SOURCES_MAX = 24,  /* files that overlap at one key */
    LOOK_UPS_MAX = 16, /* of a short scan; an iterator steps over what was deleted for less */
    ROWS_PER_TURN = 4096,
    /* Unpacked blocks that are kept take as much memory as that part of the cache, beside it. Single documents that are wanted again
     * stay elsewhere; those of bodies are for the neighbours of a document, which are wanted right behind it. */
    ROW_BLOCKS_SHARE = 9,
    BODY_BLOCKS_SHARE = 72,
    BLOCK_BYTES = 4096,
    BLOCKS_MIN = 16,
};

/* ---- views ---------------------------------------------------------------------------------------- */

void raw_view_open(struct rocksdb_storage *rocks, struct raw_view *view)
{
    *view = (struct raw_view){ .ranges_deleted = atomic_load(&rocks->ranges_deleted) };
    for (int i = 0; i < TRIES_MAX && !view->has_seq; i++) {
        if (view->snapshot)
            rocksdb_release_snapshot(rocks->db, view->snapshot); /* it was there for a moment */
        view->seq = rocksdb_get_latest_sequence_number(rocks->db);
        view->snapshot = rocksdb_create_snapshot(rocks->db);
        view->has_seq = view->seq == rocksdb_get_latest_sequence_number(rocks->db);
    }
    /* Behind the snapshot, which else may be of the moment after a sync has failed. */
    const struct sound_state *sound = sync_sound_state(rocks);
    if (sound) {
        rocksdb_release_snapshot(rocks->db, view->snapshot);
        view->snapshot = sound->snapshot;
        view->seq = sound->seq;
        view->has_seq = view->is_sound_state = true;
    }
}

void raw_view_close(struct raw_view *view)
{
    for (int i = 0; i < SPACE_COUNT; i++)
        raw_files_let_go(atomic_load(&view->files[i]));
}

struct raw_files *raw_view_keep(struct raw_view *view, enum storage_space space,
                                struct raw_files *list)
{
    struct raw_files *other = NULL;

    if (!list || atomic_compare_exchange_strong(&view->files[space], &other, list))
        return list;
    raw_files_let_go(list);
    return other;
}

/* ---- opening -------------------------------------------------------------------------------------- */

/* A file whose rows may come next. */
struct source {
    struct sorted *sorted; /* held by the table */
    struct table *table;
    bytes last; /* key of the file: until then its deleted ranges count */
    struct table_row row;
    bool is_over;
};

struct raw_scan {
    struct raw_shelf *shelf;
    struct raw_view *view;
    bytes start, end;
    struct raw_blocks *blocks; /* of a short one; else NULL */
    unsigned look_ups;
    rocksdb_readoptions_t *get_options; /* NULL until they are needed */
    rocksdb_readoptions_t *memory_options;
    rocksdb_iterator_t *memory; /* NULL: nothing is in memory */
    struct raw_files *list;

    size_t next_file;
    size_t source_count;
    struct source *given; /* whose row was taken last; it moves on with the next call */
    bool is_memory_given, is_memory_over;
    /* As long as one file alone has rows below this key, they are its next ones; empty: it is not known. */
    bytes alone_upto;
    uint32_t alone_block; /* of that file: all of its rows are below; 0: that is not known */
    bool is_placed, is_done;
    size_t place_len;
    /* From here on it does not begin with zeros. */
    struct source sources[SOURCES_MAX];
    uint8_t place[FULL_KEY_INLINE_BYTES]; /* see raw_scan_place() */
};

static void place_at(struct raw_scan *scan, bytes key, bool is_done)
{
    ASSERT(key.len <= sizeof(scan->place));
    memcpy(scan->place, key.data, key.len);
    scan->place_len = key.len;
    scan->is_done = is_done;
}

/* The list of the view if it is that of the arrangement, or another one. */
static struct raw_files *list_of(struct raw_scan *scan, uint64_t arrangement)
{
    const enum storage_space space = scan->shelf->space;
    struct raw_files *list = atomic_load(&scan->view->files[space]);
    const bool is_short = scan->blocks != NULL;

    if (!list)
        list = raw_view_keep(scan->view, space,
                             raw_files_for_scan(scan->shelf, arrangement, is_short));
    if (list && list->arrangement != arrangement)
        return raw_files_for_scan(scan->shelf, arrangement, is_short);
    if (list)
        raw_files_hold(list);
    return list;
}

/* Files that hold everything, if that is known. */
static bool pin_files(struct raw_scan *scan)
{
    struct raw_files *list = atomic_load(&scan->view->files[scan->shelf->space]);

    if (list && raw_files_are_all(scan->shelf, list))
        raw_files_hold(list);
    else
        list = raw_files_of_all(scan->shelf);
    scan->list = list;
    return list != NULL;
}

static void make_memory_options(struct raw_scan *scan)
{
    scan->memory_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(scan->memory_options, scan->view->snapshot);
    rocksdb_readoptions_set_read_tier(scan->memory_options, MEMORY_TABLES);
    rocksdb_readoptions_set_iterate_upper_bound(scan->memory_options, chars_of(scan->end),
                                                scan->end.len);
}

/* Memory tables and files as they are at one moment. */
static bool pin(struct raw_scan *scan)
{
    struct rocksdb_storage *rocks = scan->shelf->rocks;

    make_memory_options(scan);
    for (int i = 0; i < TRIES_MAX; i++) {
        const uint64_t arrangement = raw_arrangement(scan->shelf);
        scan->list = list_of(scan, arrangement);
        if (!scan->list && scan->blocks) /* that does not pay */
            return false;
        scan->memory = rocksdb_create_iterator_cf(rocks->db, scan->memory_options,
                                                  rocks->spaces[scan->shelf->space]);
        if (scan->list && arrangement != UINT64_MAX && arrangement == raw_arrangement(scan->shelf))
            return true;
        rocksdb_iter_destroy(scan->memory);
        scan->memory = NULL;
        raw_files_let_go(scan->list);
        scan->list = NULL;
    }
    return false;
}

struct raw_scan *raw_scan_open(struct rocksdb_storage *rocks, struct raw_view *view,
                               const struct raw_stretch *stretch)
{
    struct raw_shelf *shelf = &rocks->shelves[stretch->space];
    const bytes start = stretch->start, end = stretch->end;

    if (!view->has_seq || !shelf->graves || start.len > FULL_KEY_INLINE_BYTES)
        return NULL;
    struct raw_scan *scan = memory_take(sizeof(*scan));
    if (!scan)
        return NULL;
    memset(scan, 0, offsetof(struct raw_scan, sources));
    scan->shelf = shelf;
    scan->view = view;
    scan->start = start;
    scan->end = end;
    scan->blocks = stretch->is_short ? rocks->blocks : NULL;
    place_at(scan, start, false);
    if (pin_files(scan) || pin(scan))
        return scan;
    raw_scan_close(scan);
    return NULL;
}

static void drop_sources(struct raw_scan *scan)
{
    for (size_t i = 0; i < scan->source_count; i++)
        raw_table_close(scan->sources[i].table);
    scan->source_count = 0;
    scan->given = NULL;
}

void raw_scan_close(struct raw_scan *scan)
{
    if (!scan)
        return;
    drop_sources(scan);
    if (scan->memory)
        rocksdb_iter_destroy(scan->memory);
    raw_files_let_go(scan->list);
    if (scan->memory_options)
        rocksdb_readoptions_destroy(scan->memory_options);
    if (scan->get_options)
        rocksdb_readoptions_destroy(scan->get_options);
    memory_give(scan);
}

/* ---- placing -------------------------------------------------------------------------------------- */

void raw_scan_seek(struct raw_scan *scan, bytes key)
{
    drop_sources(scan);
    scan->is_placed = false;
    place_at(scan, bytes_compare(key, scan->start) < 0 ? scan->start : key, false);
}

static bytes place_of(const struct raw_scan *scan)
{
    return bytes_of(scan->place, scan->place_len);
}

bytes raw_scan_place(const struct raw_scan *scan, bool *is_done_out)
{
    *is_done_out = scan->is_done;
    return place_of(scan);
}

static void begin(struct raw_scan *scan)
{
    scan->is_placed = true;
    scan->is_memory_given = false;
    scan->is_memory_over = scan->memory == NULL;
    scan->alone_upto = BYTES_NONE;
    scan->alone_block = 0;
    scan->next_file = 0;
    if (scan->memory)
        rocksdb_iter_seek(scan->memory, (const char *)scan->place, scan->place_len);
}

/* ---- sources -------------------------------------------------------------------------------------- */

static bool advance(struct source *source)
{
    const enum sst_step step = raw_table_next(source->table, &source->row);

    source->is_over = step == SST_END;
    return step != SST_BROKEN && (source->is_over || source->row.key.len <= FULL_KEY_INLINE_BYTES);
}

/* Files that end before the place are let go; their deleted ranges end with them. */
static void drop_passed(struct raw_scan *scan)
{
    for (size_t i = 0; i < scan->source_count;) {
        struct source *source = &scan->sources[i];
        if (!source->is_over || bytes_compare(source->last, place_of(scan)) >= 0) {
            i++;
            continue;
        }
        raw_table_close(source->table);
        *source = scan->sources[--scan->source_count];
    }
}

static bool open_file(struct raw_scan *scan, struct raw_file *file)
{
    struct source *source = &scan->sources[scan->source_count];
    struct sorted *sorted = scan->source_count < SOURCES_MAX ? raw_file_take(scan->shelf, file)
                                                             : NULL;

    if (!sorted) {
        raw_shelf_tend(scan->shelf); /* it may be gone, and nobody have written since */
        return false;
    }
    *source = (struct source){ .sorted = sorted,
                               .last = file->last,
                               .table = raw_table_open(sorted, scan->end, scan->blocks) };
    sorted_let_go(sorted); /* the table holds it */
    if (!source->table)
        return false;
    scan->source_count++;
    return raw_table_seek(source->table, place_of(scan)) && advance(source);
}

/* The youngest version of the least key; NULL if no file has more. */
static struct source *least_source(struct raw_scan *scan)
{
    struct source *least = NULL;

    for (size_t i = 0; i < scan->source_count; i++) {
        struct source *source = &scan->sources[i];
        if (source->is_over)
            continue;
        const int order = least ? bytes_compare(source->row.key, least->row.key) : -1;
        if (order < 0 || (order == 0 && source->row.seq > least->row.seq))
            least = source;
    }
    return least;
}

/* Opens the files that the next row may lie in. */
static bool find_source(struct raw_scan *scan, struct source **out)
{
    *out = least_source(scan);
    while (scan->next_file < scan->list->count) {
        struct raw_file *file = &scan->list->files[scan->next_file];
        if (bytes_compare(file->first, scan->end) >= 0 ||
            (*out && bytes_compare(file->first, (*out)->row.key) > 0))
            return true;
        scan->next_file++;
        if (bytes_compare(file->last, place_of(scan)) < 0)
            continue;
        drop_passed(scan);
        if (!open_file(scan, file))
            return false;
        *out = least_source(scan);
    }
    return true;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static bool is_suspect(const struct raw_scan *scan, bytes key)
{
    for (size_t i = 0; i < scan->source_count; i++) {
        if (sorted_suspects(scan->sources[i].sorted, key))
            return true;
    }
    return scan->memory && graves_suspect(scan->list->graves, key);
}

/* What RocksDB says of a row that may have been deleted. */
static bool look_up(struct raw_scan *scan, bytes key, bool *is_there_out)
{
    const struct rocksdb_storage *rocks = scan->shelf->rocks;
    char *error = NULL;

    if (scan->blocks && ++scan->look_ups > LOOK_UPS_MAX)
        return false;
    if (!scan->get_options) {
        scan->get_options = rocksdb_readoptions_create();
        rocksdb_readoptions_set_snapshot(scan->get_options, scan->view->snapshot);
        rocksdb_readoptions_set_fill_cache(scan->get_options, 0);
    }
    rocksdb_pinnableslice_t *found = rocksdb_get_pinned_cf(rocks->db, scan->get_options,
                                                           rocks->spaces[scan->shelf->space],
                                                           chars_of(key), key.len, &error);
    *is_there_out = found != NULL;
    if (found)
        rocksdb_pinnableslice_destroy(found);
    if (error)
        rocksdb_free(error);
    return error == NULL;
}

/* Keys that come one after the other differ in their last bytes. */
static bool is_same_key(bytes a, bytes b)
{
    return a.len == b.len && a.len > 0 && a.data[a.len - 1] == b.data[b.len - 1] &&
           memcmp(a.data, b.data, a.len) == 0;
}

/* Is this the row of its key that the view shows? */
static bool decide(struct raw_scan *scan, const struct table_row *row, bool *is_shown_out)
{
    *is_shown_out = false;
    if (row->seq > scan->view->seq || (scan->is_done && is_same_key(row->key, place_of(scan))))
        return true;
    place_at(scan, row->key, true);
    if (row->kind == SST_DELETED || row->kind == SST_DELETED_ONCE)
        return true;
    *is_shown_out = true;
    const bool is_decided = row->kind == SST_VALUE &&
                            (!is_suspect(scan, row->key) || look_up(scan, row->key, is_shown_out));
    scan->is_done = is_decided; /* else it is for the iterator */
    return is_decided;
}

/* False if the memory tables cannot be read; an empty key if they have no more rows. */
static bool memory_row(struct raw_scan *scan, bytes *key_out)
{
    char *error = NULL;
    size_t len;

    *key_out = BYTES_NONE;
    if (scan->is_memory_over)
        return true;
    if (scan->is_memory_given)
        rocksdb_iter_next(scan->memory);
    scan->is_memory_given = false;
    if (rocksdb_iter_valid(scan->memory)) {
        const char *key = rocksdb_iter_key(scan->memory, &len);
        *key_out = bytes_of(key, len);
        return true;
    }
    rocksdb_iter_get_error(scan->memory, &error);
    scan->is_memory_over = error == NULL;
    if (error)
        rocksdb_free(error);
    return scan->is_memory_over;
}

static enum raw_step give_memory_row(struct raw_scan *scan, bytes key, bytes *key_out,
                                     bytes *value_out)
{
    if (key.len > sizeof(scan->place))
        return RAW_LOST;
    place_at(scan, key, true);
    scan->is_memory_given = true;
    *key_out = key;
    value_out->data = (const uint8_t *)rocksdb_iter_value(scan->memory, &value_out->len);
    return RAW_ROW;
}

static size_t count_sources(const struct raw_scan *scan)
{
    size_t count = 0;

    for (size_t i = 0; i < scan->source_count; i++)
        count += !scan->sources[i].is_over;
    return count;
}

static bytes lesser(bytes a, bytes b)
{
    return bytes_compare(a, b) <= 0 ? a : b;
}

/* What the next row is: of a file, of the memory tables (*source_out is NULL), or none. */
enum choice { CHOICE_FILE, CHOICE_MEMORY, CHOICE_END, CHOICE_LOST };
static enum choice choose(struct raw_scan *scan, bytes *in_memory, struct source **source_out)
{
    scan->alone_upto = BYTES_NONE;
    scan->alone_block = 0;
    if (!memory_row(scan, in_memory) || !find_source(scan, source_out))
        return CHOICE_LOST;
    const bool has_memory = in_memory->len > 0;
    if (*source_out && bytes_compare((*source_out)->row.key, scan->end) >= 0)
        *source_out = NULL;
    if (has_memory && (!*source_out || bytes_compare(*in_memory, (*source_out)->row.key) <= 0))
        return CHOICE_MEMORY;
    if (!*source_out)
        return CHOICE_END;
    if (count_sources(scan) == 1) {
        scan->alone_upto = scan->end;
        if (scan->next_file < scan->list->count)
            scan->alone_upto = lesser(scan->alone_upto, scan->list->files[scan->next_file].first);
        if (has_memory)
            scan->alone_upto = lesser(scan->alone_upto, *in_memory);
    }
    return CHOICE_FILE;
}

/* Is the row of the only file that has rows the next one of all? */
static bool is_alone(struct raw_scan *scan, const struct source *source)
{
    const uint32_t block = raw_table_block(source->table);

    if (block == scan->alone_block)
        return true;
    if (scan->alone_upto.len == 0)
        return false;
    const bytes last = raw_table_block_end(source->table);
    if (last.len && bytes_compare(last, scan->alone_upto) < 0) {
        scan->alone_block = block;
        return true;
    }
    return bytes_compare(source->row.key, scan->alone_upto) < 0;
}

/* Moves on in the file whose row was given. Its next row is the next one of all if nothing else can come before. */
static enum choice move_on(struct raw_scan *scan, bytes *in_memory, struct source **source_out)
{
    struct source *given = scan->given;

    scan->given = NULL;
    if (given && !advance(given))
        return CHOICE_LOST;
    if (given && !given->is_over && is_alone(scan, given)) {
        *source_out = given;
        return CHOICE_FILE;
    }
    return choose(scan, in_memory, source_out);
}

enum raw_step raw_scan_next(struct raw_scan *scan, bytes *key_out, bytes *value_out)
{
    struct source *source;
    bool is_shown;
    bytes in_memory;

    if (!scan->is_placed)
        begin(scan);
    for (;;) {
        const enum choice choice = move_on(scan, &in_memory, &source);
        if (choice == CHOICE_LOST)
            return RAW_LOST;
        if (choice == CHOICE_MEMORY)
            return give_memory_row(scan, in_memory, key_out, value_out);
        if (choice == CHOICE_END)
            return RAW_END;
        scan->given = source;
        if (!decide(scan, &source->row, &is_shown))
            return RAW_LOST;
        if (!is_shown)
            continue;
        *key_out = source->row.key;
        *value_out = source->row.value;
        return RAW_ROW;
    }
}

/* ---- deletions ------------------------------------------------------------------------------------ */

static uint64_t property(const struct raw_shelf *shelf, const char *name)
{
    uint64_t value = UINT64_MAX;

    rocksdb_property_int_cf(shelf->rocks->db, shelf->rocks->spaces[shelf->space], name, &value);
    return value;
}

bool raw_memory_is_empty(const struct raw_shelf *shelf)
{
    return property(shelf, "rocksdb.num-entries-active-mem-table") == 0 &&
           property(shelf, "rocksdb.num-immutable-mem-table") == 0;
}

bool raw_past_is_in_files(struct raw_shelf *shelf)
{
    if (!atomic_load(&shelf->has_past))
        return true;
    if (property(shelf, "rocksdb.num-immutable-mem-table") != 0)
        return false;
    atomic_store(&shelf->has_past, false);
    return true;
}

static size_t blocks_within(size_t size)
{
    return size / BLOCK_BYTES > BLOCKS_MIN ? size / BLOCK_BYTES : BLOCKS_MIN;
}

/* Opening has written everything that was in the log to files, or is about to: then it is in tables that nobody writes to any
 * more. If not, nothing is known. */
void raw_begin(struct rocksdb_storage *rocks)
{
    for (int i = SPACE_ROWS; i < SPACE_COUNT; i++) {
        struct raw_shelf *shelf = &rocks->shelves[i];
        shelf->graves = graves_open(property(shelf, "rocksdb.num-entries-active-mem-table") == 0);
        atomic_store(&shelf->has_past, !raw_memory_is_empty(shelf));
    }
    rocks->blocks = raw_blocks_open(blocks_within(rocks->cache_bytes / ROW_BLOCKS_SHARE));
    rocks->body_blocks = raw_blocks_open(blocks_within(rocks->cache_bytes / BODY_BLOCKS_SHARE));
}

/* If the memory table of the space holds fewer rows than were written since the last turn, it is a younger one, and
 * what was added before that turn is in older ones. If there are no older ones any more, it is in files. */
static void turn(struct raw_shelf *shelf)
{
    shelf->asked_at = shelf->written;
    if (property(shelf, "rocksdb.num-entries-active-mem-table") >= shelf->written ||
        property(shelf, "rocksdb.num-immutable-mem-table") != 0)
        return;
    graves_turn(shelf->graves);
    shelf->written = shelf->asked_at = 0;
}

void raw_turn(struct raw_shelf *shelf, size_t rows)
{
    if (shelf->written - shelf->asked_at >= ROWS_PER_TURN)
        turn(shelf);
    shelf->written += rows;
}
