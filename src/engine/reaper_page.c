/* Reaper, pages: walks all rows of a space in order, a page at a time.
 *
 * Between two pages nothing is held, clients go first, and the memory of the page is given back; the walk
 * goes on behind the last row seen, whatever has become of it. Used for bodies (reaper.c) and for locators
 * and index rows (reaper_rows.c). Start reading at page_walk(). */
#include "engine/purger_parts.h"

enum { POSITION_BYTES = 2 * LIMIT_KEY_BYTES + 64 };

void page_go_on_behind(struct page_walk *walk, bytes key)
{
    ASSERT(key.len <= POSITION_BYTES);
    memcpy(walk->position, key.data, key.len);
    walk->position_len = key.len;
    walk->is_finished = false;
}

static status find_page(struct purge_pass *pass, struct page_walk *walk)
{
    struct buffer start = buffer_in(pass->arena);
    struct storage_range range = { 0 };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    buffer_append(&start, bytes_of(walk->position, walk->position_len));
    buffer_append_byte(&start, 0x01);
    TRY(buffer_finish(&start, &range.start));
    TRY(storage_scan_open(pass->engine->storage, NULL, walk->where, &range, &scan));
    for (size_t seen = 0; s.code == OK && seen < PAGE_ROWS && !walk->is_full(walk->owner); seen++) {
        walk->is_finished = !storage_scan_next(scan, &key, &value);
        if (walk->is_finished)
            break;
        page_go_on_behind(walk, key);
        s = walk->look(walk->owner, key, value);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status page_walk(struct purge_pass *pass, struct page_walk *walk)
{
    TRY(ARENA_NEW(pass->arena, POSITION_BYTES, &walk->position));
    while (!walk->is_finished) {
        arena_position mark = arena_mark(pass->arena);
        status s = purge_yield(pass);
        if (s.code == OK)
            s = walk->begin(walk->owner);
        if (s.code == OK)
            s = find_page(pass, walk);
        if (s.code == OK)
            s = walk->act(walk->owner);
        arena_release(pass->arena, mark);
        TRY(s);
    }
    return STATUS_OK;
}
