/* Fuzz: updates, projections and pipelines. The input is lines of JSON: a document, a filter, then any number of
 * updates (documents or arrays, which are pipelines too). Whatever they say, they are refused with a code or give
 * a document that passes the check; applying the same update twice is possible whenever it was once. */
#include <stdlib.h>

#include "front/mongo/filter.h"
#include "front/mongo/pipeline.h"
#include "front/mongo/projection.h"
#include "front/mongo/update.h"

enum { BUDGET = 128 * 1024 * 1024, LINES_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static bool take_line(struct arena *arena, bytes *rest, struct value *out)
{
    const uint8_t *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    bytes line = bytes_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);
    bool is_array = line.len && line.data[0] == '[';

    if (rest->len == 0)
        return false;
    *rest = bytes_from(*rest, line.len + 1);
    out->type = is_array ? VALUE_ARRAY : VALUE_DOCUMENT;
    return (is_array ? json_read_array(arena, line, &out->raw) : json_read(arena, line, &out->raw))
               .code == OK;
}

static void need_good(struct arena *arena, bytes document)
{
    status s = document_check(arena, document);

    need(s.code == OK || s.code == TOO_LARGE); /* nested deeper by what was put in */
}

static void change(struct arena *arena, const struct match *match, struct value u, bytes document,
                   const struct matching *met)
{
    static const uint8_t id[12] = { 1 };
    struct value fresh_id = { .type = VALUE_OBJECT_ID, .raw = bytes_of(id, sizeof(id)) };
    struct update_run run = {
        .arena = arena, .now = 1000, .has_position = met->has_position, .position = met->position
    };
    struct update_result result, again;
    const struct update *update;
    struct fault fault = { 0 };
    bytes inserted;

    status s = update_parse(arena, u, BYTES_NONE, NULL, &update, &fault);
    need(s.code == OK || fault.code != 0 || s.code != INVALID);
    if (s.code != OK)
        return;
    s = update_apply(update, &run, document, &result);
    if (s.code == OK) {
        need_good(arena, result.document);
        need(result.is_changed || bytes_equal(result.document, document));
        s = update_apply(update, &run, result.document, &again);
        if (s.code == OK)
            need_good(arena, again.document);
    }
    s = update_insert(update, &run, match, fresh_id, &inserted);
    if (s.code == OK)
        need_good(arena, inserted);
}

static void project(struct arena *arena, bytes wanted, bytes document, const struct matching *met)
{
    struct projection_run run = { .arena = arena,
                                  .has_position = met->has_position,
                                  .position = met->position };
    const struct projection *projection;
    struct fault fault = { 0 };
    bytes given;

    status s = projection_parse(arena, wanted, PROJECTION_OF_FIND, NULL, &projection, &fault);
    need(s.code == OK || fault.code != 0 || s.code != INVALID);
    if (s.code != OK || !projection)
        return;
    s = projection_apply(projection, &run, document, &given);
    if (s.code == OK)
        need_good(arena, given);
}

struct source {
    bytes document;
    int left;
};

static status next_document(void *context, bytes *document_out, bool *has_out)
{
    struct source *source = context;

    *document_out = source->document;
    *has_out = source->left-- > 0;
    return STATUS_OK;
}

/* Any other collection has the document twice, whatever is asked of it. */
static status open_other(void *context, bytes name, const struct match *match, unsigned how,
                         const struct formula_run *formulas, struct pipeline_source *out)
{
    struct source *other = context;

    (void)name;
    (void)how;
    (void)match;
    (void)formulas;
    other->left = 2;
    *out = (struct pipeline_source){ .next = next_document, .context = other };
    return STATUS_OK;
}

static status weigh_other(void *context, bytes name, uint64_t *out)
{
    (void)context;
    (void)name;
    *out = 2;
    return STATUS_OK;
}

static void close_other(void *context, struct pipeline_source *source)
{
    (void)context;
    (void)source;
}

static void flow(struct arena *arena, bytes stages, bytes document)
{
    struct source context = { .document = document, .left = 2 };
    struct source other = { .document = document };
    const struct pipeline_foreign foreign = {
        .open = open_other, .weigh = weigh_other, .close = close_other, .context = &other
    };
    const struct pipeline_source source = { .next = next_document,
                                            .context = &context,
                                            .foreign = &foreign };
    const struct pipeline *pipeline;
    struct pipeline_run *run;
    struct fault fault = { 0 };
    bool has_row = true;
    bytes row;

    status s = pipeline_parse(arena, stages, NULL, &pipeline, &fault);
    need(s.code == OK || fault.code != 0 || s.code != INVALID);
    if (s.code != OK || pipeline_open(pipeline, 0, &source, NULL, arena, &run).code != OK)
        return;
    for (int i = 0; i < 100 && has_row; i++) {
        s = pipeline_next(run, &row, &has_row);
        if (s.code != OK)
            break;
        if (has_row)
            need_good(arena, row);
    }
    pipeline_close(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes rest = bytes_of(data, size);
    struct value document, filter, line;
    struct matching matching = { .scratch = arena };
    const struct match *match = NULL;
    struct fault fault = { 0 };
    bool is_match;

    need(arena != NULL);
    if (take_line(arena, &rest, &document) && document.type == VALUE_DOCUMENT &&
        take_line(arena, &rest, &filter) && filter.type == VALUE_DOCUMENT &&
        filter_parse(arena, filter.raw, NULL, &match, &fault).code == OK &&
        match_document(match, &matching, document.raw, &is_match).code == OK) {
        for (int i = 0; i < LINES_MAX && take_line(arena, &rest, &line); i++) {
            change(arena, match, line, document.raw, &matching);
            if (line.type == VALUE_ARRAY)
                flow(arena, line.raw, document.raw);
            else
                project(arena, line.raw, document.raw, &matching);
        }
    }
    arena_close(arena);
    return 0;
}
