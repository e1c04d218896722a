/* Sift: a walk over all slots, shared by several threads.
 *
 * The thread of the request begins alone. When it has seen enough to know that this takes longer, it parts what
 * lies ahead into pieces, and asks for helpers. A helper takes the next free piece, walks it and keeps what passes
 * the test. The thread of the request comes to the pieces in their order. A free one it walks itself, and gives
 * what passes as it comes. Of one that a helper has finished it gives what was kept. If a helper is still at it, it
 * works ahead like a helper, and waits only if there is nothing left to do.
 *
 *     FREE -> TAKEN [take_piece, enter]   some thread walks it
 *     TAKEN -> DONE [run_ahead]           what was kept is there, up to the end of the piece or to `rest`
 *
 * A piece that keeps too much is left where it stands: `rest` says where the thread of the request has to go on by
 * itself. So helpers never wait, and what they hold is bounded.
 *
 * Keeps: documents and counts come as if one thread had walked all; nobody looks further ahead than AHEAD pieces.
 * Threads: `lock` guards the states of the pieces, `at` and `running`. A piece that is TAKEN belongs to the thread that
 * took it, one that is DONE to the thread of the request. Start reading at sift_next(). */
#include "engine/sift.h"

#include "base/block.h"
#include "base/crew.h"
#include "base/wait.h"
#include "engine/slots.h"

enum {
    /* Documents that one thread looks at before others are asked. */
    ALONE_DOCUMENTS = 1000,
    /* Pieces that may be walked before the thread of the request comes to them, for each helper. */
    AHEAD = 4,
    /* Stretches that the storage gives, and into how many each is cut: small pieces are done at the same time by all. */
    CUTS_LEAST = 4,
    CUTS_MOST = 16,
    STRETCHES_MAX = LIMIT_SIFT_PIECES / CUTS_LEAST - 2,
    PIECES_WANTED = 64,
    DOCUMENTS_PER_QUESTION = 256,
    WAIT_MS = 50,
};

/* A document that has passed. */
struct kept {
    struct kept *next;
    struct document document;
    struct sift_seen seen; /* since the one before, this one included */
};

enum piece_state { PIECE_FREE, PIECE_TAKEN, PIECE_DONE };

struct piece {
    enum piece_state state; /* lock */
    bytes start, end;
    struct arena *arena; /* of what was kept; NULL: nothing */
    struct kept *first, *last;
    struct sift_seen seen; /* behind the last one kept */
    uint8_t rest[ROW_SLOT_BYTES];
    bool has_rest;
    status failure;
};

struct helper {
    struct sift *sift;
    void *tester;
    struct arena *arena;
    bool is_running; /* lock */
};

struct sift {
    struct sift_spec spec;
    struct storage_view *view;
    void *tester;
    struct sift_seen seen;
    uint64_t questions;

    struct piece *pieces;
    size_t piece_count;
    size_t at; /* the piece that is being given; lock, for others than its own thread */
    const struct kept *row; /* the next one to be given of a piece that is DONE */
    struct slot_walk walk;  /* of a piece that is walked as it is given */
    bool is_entered, is_walking;

    bool is_parted;
    struct helper helpers[LIMIT_CREW_HANDS];
    size_t helper_count; /* that have a tester */
    unsigned running;    /* lock */
    _Atomic bool is_over;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

status sift_open(const struct sift_spec *spec, struct sift **out)
{
    struct sift *sift;

    *out = NULL;
    TRY(ARENA_NEW(spec->request->arena, 1, &sift));
    TRY(ARENA_NEW(spec->request->arena, 1, &sift->pieces));
    TRY(request_view(spec->request, &sift->view));
    sift->spec = *spec;
    sift->piece_count = 1;
    sift->pieces[0].failure = STATUS_OK;
    TRY(spec->test.open(spec->test.context, &sift->tester));
    pthread_mutex_init(&sift->lock, NULL);
    wait_condition_init(&sift->changed);
    *out = sift;
    return STATUS_OK;
}

bool sift_is_worth(struct request *request, const struct collection *collection)
{
    return request->engine->options.sift_alone ||
           collection_size(request, collection).bytes >= SLOTS_LONG_BYTES;
}

struct sift_seen sift_seen(const struct sift *sift)
{
    return sift->seen;
}

void sift_close(struct sift *sift)
{
    if (!sift)
        return;
    atomic_store(&sift->is_over, true);
    pthread_mutex_lock(&sift->lock);
    while (sift->running > 0)
        pthread_cond_wait(&sift->changed, &sift->lock);
    pthread_mutex_unlock(&sift->lock);
    if (sift->is_walking)
        slot_walk_close(&sift->walk);
    for (size_t i = 0; i < sift->piece_count; i++) {
        if (sift->pieces[i].arena)
            arena_close(sift->pieces[i].arena);
    }
    for (size_t i = 0; i < sift->helper_count; i++) {
        sift->spec.test.close(sift->helpers[i].tester);
        arena_close(sift->helpers[i].arena);
    }
    sift->spec.test.close(sift->tester);
    metrics_add(sift->spec.request->engine->metrics, METRIC_documents_read_total,
                sift->seen.documents);
    pthread_cond_destroy(&sift->changed);
    pthread_mutex_destroy(&sift->lock);
}

/* ---- one document --------------------------------------------------------------------------------- */

/* Into a document that was empty or has been here before: to empty it every time would cost as much as all the rest. */
static void document_at(const struct slot_walk *walk, struct document *out)
{
    out->bson = walk->body.document;
    out->seq = walk->body.stamp.seq;
    out->birth_seq = walk->body.birth_seq;
    out->written_at_s = walk->body.stamp.written_at_s;
    out->own_ttl = walk->body.stamp.own_ttl;
}

/* Moves to the next document and tests it. Its key is known if it passes. */
static status step(const struct sift *sift, struct slot_walk *walk, void *tester,
                   struct document *out, bool *has_out, bool *passes_out)
{
    const struct sift_test *test = &sift->spec.test;
    const struct collection *collection = sift->spec.collection;

    *passes_out = false;
    *has_out = slot_walk_next(walk);
    if (!*has_out)
        return slot_walk_status(walk);
    document_at(walk, out);
    if (test->needs_key)
        TRY(document_key_split(collection, walk->body.key, &out->key));
    TRY(test->judge(tester, out, passes_out));
    if (*passes_out && !test->needs_key)
        TRY(document_key_split(collection, walk->body.key, &out->key));
    return STATUS_OK;
}

static void count(struct sift_seen *seen, const struct document *document)
{
    seen->documents++;
    seen->bytes += document->bson.len;
}

static void add(struct sift_seen *seen, const struct sift_seen *more)
{
    seen->documents += more->documents;
    seen->bytes += more->bytes;
}

/* ---- working ahead -------------------------------------------------------------------------------- */

static status copy_document(struct arena *arena, const struct document *document,
                            struct document *out)
{
    *out = *document;
    TRY(arena_copy(arena, document->bson, &out->bson));
    TRY(arena_copy(arena, document->key.partition, &out->key.partition));
    return arena_copy(arena, document->key.id, &out->key.id);
}

/* False if there is no room for it. */
static bool keep(struct piece *piece, const struct document *document)
{
    struct kept *kept;

    if (!piece->arena)
        piece->arena = arena_open(LIMIT_SIFT_AHEAD_BYTES);
    if (!piece->arena || ARENA_NEW(piece->arena, 1, &kept).code != OK ||
        copy_document(piece->arena, document, &kept->document).code != OK)
        return false;
    kept->seen = piece->seen;
    count(&kept->seen, document);
    piece->seen = (struct sift_seen){ 0 };
    if (piece->last)
        piece->last->next = kept;
    else
        piece->first = kept;
    piece->last = kept;
    return true;
}

/* Walks the piece until it ends, has kept enough, or is not wanted any more. */
static status walk_piece(struct sift *sift, struct piece *piece, struct slot_walk *walk,
                         void *tester)
{
    bool has_document = true, passes;
    struct document document = { 0 };

    while (!atomic_load_explicit(&sift->is_over, memory_order_relaxed)) {
        TRY(step(sift, walk, tester, &document, &has_document, &passes));
        if (!has_document)
            return STATUS_OK;
        if (!passes) {
            count(&piece->seen, &document);
        } else if (!keep(piece, &document)) {
            ASSERT(walk->key.len == sizeof(piece->rest));
            memcpy(piece->rest, walk->key.data, sizeof(piece->rest));
            piece->has_rest = true;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

/* What a tester says of a failure does not outlive its next document. */
static status keep_failure(struct piece *piece, status s)
{
    if (s.code == OK)
        return STATUS_OK;
    if (!piece->arena)
        piece->arena = arena_open(LIMIT_SIFT_AHEAD_BYTES);
    if (!piece->arena)
        return status_of(s.code, status_code_sentence(s.code));
    return status_fail(piece->arena, s.code, "%s", s.message);
}

/* For a piece that this thread has taken. */
static void run_ahead(struct sift *sift, struct piece *piece, void *tester, struct arena *arena)
{
    struct slot_walk walk;

    status s = slot_walk_open(&walk, sift->spec.request, sift->view, sift->spec.collection, arena,
                              piece->start, piece->end, true);
    if (s.code == OK)
        s = walk_piece(sift, piece, &walk, tester);
    piece->failure = keep_failure(piece, s);
    slot_walk_close(&walk);
    pthread_mutex_lock(&sift->lock);
    piece->state = PIECE_DONE;
    pthread_cond_broadcast(&sift->changed);
    pthread_mutex_unlock(&sift->lock);
}

/* The next free piece that is not too far ahead, or NULL. The lock is held. */
static struct piece *find_piece(struct sift *sift)
{
    size_t end = sift->at + 1 + AHEAD * (sift->helper_count + 1);

    for (size_t i = sift->at; i < sift->piece_count && i < end; i++) {
        if (sift->pieces[i].state == PIECE_FREE)
            return &sift->pieces[i];
    }
    return NULL;
}

static struct piece *take_piece(struct sift *sift)
{
    pthread_mutex_lock(&sift->lock);
    struct piece *piece = find_piece(sift);
    if (piece)
        piece->state = PIECE_TAKEN;
    pthread_mutex_unlock(&sift->lock);
    return piece;
}

/* A helper's thread. Behind the last unlock the sift may be gone. */
static void help(void *context)
{
    struct helper *helper = context;
    struct sift *sift = helper->sift;
    struct piece *piece;

    while (!atomic_load(&sift->is_over) && (piece = take_piece(sift)) != NULL)
        run_ahead(sift, piece, helper->tester, helper->arena);
    pthread_mutex_lock(&sift->lock);
    helper->is_running = false;
    sift->running--;
    pthread_cond_broadcast(&sift->changed);
    pthread_mutex_unlock(&sift->lock);
}

/* ---- helpers -------------------------------------------------------------------------------------- */

/* One that has nothing to do, or a new one; NULL if there cannot be more. */
static struct helper *idle_helper(struct sift *sift)
{
    struct helper *helper = NULL;

    pthread_mutex_lock(&sift->lock);
    for (size_t i = 0; i < sift->helper_count && !helper; i++) {
        if (!sift->helpers[i].is_running)
            helper = &sift->helpers[i];
    }
    pthread_mutex_unlock(&sift->lock);
    if (helper || sift->helper_count == ARRAY_COUNT(sift->helpers))
        return helper;
    helper = &sift->helpers[sift->helper_count];
    helper->sift = sift;
    helper->arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!helper->arena)
        return NULL;
    if (sift->spec.test.open(sift->spec.test.context, &helper->tester).code != OK) {
        arena_close(helper->arena);
        return NULL;
    }
    pthread_mutex_lock(&sift->lock);
    sift->helper_count++;
    pthread_mutex_unlock(&sift->lock);
    return helper;
}

static bool has_free_piece(struct sift *sift)
{
    pthread_mutex_lock(&sift->lock);
    bool has_piece = find_piece(sift) != NULL;
    pthread_mutex_unlock(&sift->lock);
    return has_piece;
}

static void mark_running(struct sift *sift, struct helper *helper, bool is_running)
{
    pthread_mutex_lock(&sift->lock);
    helper->is_running = is_running;
    sift->running = is_running ? sift->running + 1 : sift->running - 1;
    pthread_mutex_unlock(&sift->lock);
}

/* Asks for all who are free, as long as there is something to do for them. */
static void recruit(struct sift *sift)
{
    struct crew *crew = sift->spec.request->engine->crew;
    struct helper *helper;

    while (has_free_piece(sift) && (helper = idle_helper(sift)) != NULL) {
        mark_running(sift, helper, true);
        if (crew_lend(crew, help, helper))
            continue;
        mark_running(sift, helper, false);
        return;
    }
}

/* ---- pieces --------------------------------------------------------------------------------------- */

/* Borders between `start` and `end` at about the same distances, as far as time tells them apart. The end may lie
 * before the start: files know of rows that the view does not show. */
static status cut_stretch(struct arena *arena, bytes start, bytes end, size_t cuts, bytes *borders,
                          size_t *border_count)
{
    unsigned lane, end_lane;
    time_ms from, upto;
    uint64_t seq;

    if (!row_slot_of(start, &lane, &from, &seq) || !row_slot_of(end, &end_lane, &upto, &seq) ||
        lane != end_lane || upto <= from)
        return STATUS_OK;
    uint64_t span = (uint64_t)upto - (uint64_t)from;
    for (uint64_t i = 1; i < cuts && span >= cuts; i++) {
        struct buffer border = buffer_in(arena);
        row_key_lane_from(&border, lane, (time_ms)((uint64_t)from + span / cuts * i));
        TRY(buffer_finish(&border, &borders[*border_count]));
        ++*border_count;
    }
    return STATUS_OK;
}

/* The last slot that there is. */
static status find_last(struct sift *sift, bytes *out)
{
    const struct storage_range all = { .is_reverse = true };
    struct request *request = sift->spec.request;
    struct storage_scan *rows;
    bytes key, value;

    *out = BYTES_NONE;
    TRY(storage_scan_open(request->storage, sift->view,
                          address(sift->spec.collection->state->partition, SPACE_BODIES), &all,
                          &rows));
    status s = storage_scan_next(rows, &key, &value) ? arena_copy(request->arena, key, out)
                                                     : storage_scan_status(rows);
    storage_scan_close(rows);
    return s;
}

/* Cuts what lies behind the slot where the walk stands; there is the first border. */
static status find_borders(struct sift *sift, bytes *borders, size_t *border_count)
{
    struct request *request = sift->spec.request;
    struct storage_range ahead = { 0 };
    struct storage_parting parting;
    bytes from, last;

    *border_count = 0;
    TRY(arena_copy(request->arena, sift->walk.key, &ahead.start));
    TRY(storage_part(request->engine->storage,
                     address(sift->spec.collection->state->partition, SPACE_BODIES), &ahead,
                     STRETCHES_MAX, request->arena, &parting));
    TRY(find_last(sift, &last));
    TRY(arena_join(request->arena, ahead.start, BYTES_LITERAL("\x01"),
                   &borders[(*border_count)++]));
    size_t cuts = PIECES_WANTED / (parting.count + 1);
    cuts = cuts < CUTS_LEAST ? CUTS_LEAST : cuts > CUTS_MOST ? CUTS_MOST : cuts;
    from = ahead.start;
    for (size_t i = 0; i < parting.count; i++) {
        TRY(cut_stretch(request->arena, from, parting.keys[i], cuts, borders, border_count));
        borders[(*border_count)++] = from = parting.keys[i];
    }
    return cut_stretch(request->arena, from, last, cuts, borders, border_count);
}

static status make_pieces(struct sift *sift)
{
    struct arena *arena = sift->spec.request->arena;
    struct piece *pieces;
    bytes *borders;
    size_t border_count;

    TRY(ARENA_NEW(arena, LIMIT_SIFT_PIECES, &borders));
    TRY(find_borders(sift, borders, &border_count));
    TRY(ARENA_NEW(arena, border_count + 1, &pieces));
    pieces[0] = sift->pieces[0];
    pieces[0].end = borders[0];
    for (size_t i = 0; i < border_count; i++) {
        pieces[i + 1] = (struct piece){ .start = borders[i], .failure = STATUS_OK };
        if (i + 1 < border_count)
            pieces[i + 1].end = borders[i + 1];
    }
    sift->walk.stop = borders[0];
    sift->pieces = pieces;
    sift->piece_count = border_count + 1;
    return STATUS_OK;
}

/* Alone until it shows that it takes longer. */
static status part(struct sift *sift)
{
    struct engine *engine = sift->spec.request->engine;
    const uint64_t alone = engine->options.sift_alone ? engine->options.sift_alone
                                                      : ALONE_DOCUMENTS;

    if (sift->is_parted || sift->seen.documents < alone)
        return STATUS_OK;
    sift->is_parted = true;
    /* What a transaction has laid over the storage belongs to its one thread. */
    if (!engine->crew || sift->spec.request->storage != engine->storage ||
        !sift_is_worth(sift->spec.request, sift->spec.collection))
        return STATUS_OK;
    TRY(make_pieces(sift));
    recruit(sift);
    return STATUS_OK;
}

/* ---- giving --------------------------------------------------------------------------------------- */

static status ask_to_go_on(const struct sift *sift)
{
    return sift->spec.go_on ? sift->spec.go_on(sift->spec.context) : STATUS_OK;
}

static status begin_walk(struct sift *sift, bytes start)
{
    const struct piece *piece = &sift->pieces[sift->at];

    sift->is_walking = true;
    return slot_walk_open(&sift->walk, sift->spec.request, sift->view, sift->spec.collection,
                          sift->spec.request->arena, start, piece->end, sift->is_parted);
}

/* In vain if the helper is done meanwhile. */
static void wait_for_helper(struct sift *sift, const struct piece *piece)
{
    struct wait_limit limit = wait_limit_from_now(WAIT_MS);
    const bool is_marked = block_begin();

    pthread_mutex_lock(&sift->lock);
    if (piece->state == PIECE_TAKEN)
        (void)wait_on(&sift->changed, &sift->lock, &limit);
    pthread_mutex_unlock(&sift->lock);
    if (is_marked)
        block_end();
}

/* What the piece was before; a free one is taken, and while another thread has it, one further ahead. */
static enum piece_state claim(struct sift *sift, struct piece *piece, struct piece **ahead_out)
{
    pthread_mutex_lock(&sift->lock);
    const enum piece_state before = piece->state;
    if (before == PIECE_FREE)
        piece->state = PIECE_TAKEN;
    *ahead_out = before == PIECE_TAKEN ? find_piece(sift) : NULL;
    if (*ahead_out)
        (*ahead_out)->state = PIECE_TAKEN;
    pthread_mutex_unlock(&sift->lock);
    return before;
}

/* Comes to a piece. Until whoever has it is done with it, there is other work. */
static status enter(struct sift *sift)
{
    struct piece *piece = &sift->pieces[sift->at], *ahead;
    enum piece_state before;

    if (sift->piece_count > 1)
        recruit(sift);
    while ((before = claim(sift, piece, &ahead)) == PIECE_TAKEN) {
        TRY(ask_to_go_on(sift));
        if (ahead)
            run_ahead(sift, ahead, sift->tester, sift->spec.request->arena);
        else
            wait_for_helper(sift, piece);
    }
    sift->is_entered = true;
    sift->row = piece->first;
    return before == PIECE_FREE ? begin_walk(sift, piece->start) : STATUS_OK;
}

/* The piece is given. */
static void leave(struct sift *sift)
{
    struct piece *piece = &sift->pieces[sift->at];

    if (piece->arena)
        arena_close(piece->arena);
    piece->arena = NULL;
    if (sift->is_walking)
        slot_walk_close(&sift->walk);
    sift->is_walking = sift->is_entered = false;
    pthread_mutex_lock(&sift->lock);
    sift->at++;
    pthread_mutex_unlock(&sift->lock);
}

/* Walks on to the next one that passes; none: the piece has ended. */
static status next_walked(struct sift *sift, struct document *out, bool *has_out)
{
    bool has_document = true;

    *has_out = false;
    *out = (struct document){ 0 };
    while (!*has_out) {
        if (sift->questions++ % DOCUMENTS_PER_QUESTION == 0)
            TRY(ask_to_go_on(sift));
        TRY(step(sift, &sift->walk, sift->tester, out, &has_document, has_out));
        if (!has_document)
            return STATUS_OK;
        count(&sift->seen, out);
        TRY(part(sift));
    }
    return STATUS_OK;
}

/* The next one that was kept; then what is left of the piece. */
static status next_kept(struct sift *sift, struct document *out, bool *has_out)
{
    const struct piece *piece = &sift->pieces[sift->at];

    *has_out = sift->row != NULL;
    if (*has_out) {
        *out = sift->row->document;
        add(&sift->seen, &sift->row->seen);
        sift->row = sift->row->next;
        return STATUS_OK;
    }
    add(&sift->seen, &piece->seen);
    if (piece->failure.code != OK)
        return status_fail(sift->spec.request->arena, piece->failure.code, "%s",
                           piece->failure.message);
    return piece->has_rest ? begin_walk(sift, bytes_of(piece->rest, sizeof(piece->rest)))
                           : STATUS_OK;
}

status sift_next(struct sift *sift, struct document *out, bool *has_out)
{
    *has_out = false;
    while (sift->at < sift->piece_count) {
        if (!sift->is_entered)
            TRY(enter(sift));
        if (!sift->is_walking)
            TRY(next_kept(sift, out, has_out));
        if (sift->is_walking)
            TRY(next_walked(sift, out, has_out));
        if (*has_out)
            return STATUS_OK;
        leave(sift);
    }
    return STATUS_OK;
}
