/* Pipeline redact: leaves out the documents within documents that a formula does not let through.
 *
 * The formula is computed for the row, and for each document inside that it descends to, arrays included. The
 * depth of documents is bounded when they are checked.
 *
 * Threads: a run belongs to its request. Start reading at pull_redact(). */
#include "query/pipeline_parts.h"

struct redaction {
    struct pipeline_run *run;
    struct operator* o;
    struct value root;
};

static status redact(struct redaction *r, struct value value, struct buffer *out, bytes name);

struct value redact_value(enum redact_verdict verdict)
{
    static const uint8_t descend[] = "\x08\0\0\0descend", prune[] = "\x06\0\0\0prune",
                         keep[] = "\x05\0\0\0keep";

    switch (verdict) {
    case REDACT_NONE:
        break;
    case REDACT_DESCEND:
        return (struct value){ .type = VALUE_STRING, .raw = bytes_of(descend, sizeof(descend)) };
    case REDACT_PRUNE:
        return (struct value){ .type = VALUE_STRING, .raw = bytes_of(prune, sizeof(prune)) };
    case REDACT_KEEP:
        return (struct value){ .type = VALUE_STRING, .raw = bytes_of(keep, sizeof(keep)) };
    }
    return (struct value){ .type = VALUE_MISSING };
}

static enum redact_verdict verdict_of(struct value said)
{
    static const enum redact_verdict verdicts[] = { REDACT_DESCEND, REDACT_PRUNE, REDACT_KEEP };

    for (size_t i = 0; i < ARRAY_COUNT(verdicts); i++) {
        if (said.raw.data == redact_value(verdicts[i]).raw.data)
            return verdicts[i];
    }
    return REDACT_NONE;
}

static status judge(struct redaction *r, struct value document, enum redact_verdict *verdict_out)
{
    struct formula_run *formulas = &r->run->formulas;
    struct arena *home = formulas->arena;
    struct value said;

    formulas->arena = r->o->scratch;
    formulas->root = r->root;
    formulas->current = document;
    status s = formula_value(r->o->stage->formula, formulas, &said);
    formulas->arena = home;
    if (s.code != OK) {
        r->run->refusal = formulas->refusal;
        return status_fail(home, s.code, "%s", s.message);
    }
    *verdict_out = verdict_of(said);
    if (*verdict_out != REDACT_NONE)
        return STATUS_OK;
    r->run->refusal = 17053;
    return status_fail(home, INVALID,
                       "$redact's expression should not return anything aside from the variables "
                       "$$KEEP, $$DESCEND, and $$PRUNE, but returned a %s",
                       value_type_name(said.type));
}

static status redact_fields(struct redaction *r, bytes document, struct buffer *out)
{
    struct document_walk walk = document_fields(document);
    struct field field;

    while (document_next(&walk, &field))
        TRY(redact(r, field.value, out, field.name));
    return STATUS_OK;
}

static status redact_array(struct redaction *r, struct value array, struct buffer *out, bytes name)
{
    struct document_walk walk = document_fields(value_document(array));
    size_t begun = document_begin_inner(out, VALUE_ARRAY, name);
    uint64_t count = 0;
    struct field element;

    while (document_next(&walk, &element)) {
        struct buffer digits = buffer_in(r->o->scratch);
        size_t before = out->len;
        buffer_append_decimal(&digits, count, 1);
        TRY(redact(r, element.value, out, bytes_of(digits.data, digits.len)));
        count += out->len != before;
    }
    document_end(out, begun);
    return STATUS_OK;
}

static status redact(struct redaction *r, struct value value, struct buffer *out, bytes name)
{
    enum redact_verdict verdict;

    if (value.type == VALUE_ARRAY)
        return redact_array(r, value, out, name);
    if (value.type != VALUE_DOCUMENT) {
        document_append(out, name, value);
        return STATUS_OK;
    }
    TRY(judge(r, value, &verdict));
    if (verdict == REDACT_PRUNE)
        return STATUS_OK;
    if (verdict == REDACT_KEEP) {
        document_append(out, name, value);
        return STATUS_OK;
    }
    size_t begun = document_begin_inner(out, VALUE_DOCUMENT, name);
    TRY(redact_fields(r, value_document(value), out));
    document_end(out, begun);
    return STATUS_OK;
}

status pull_redact(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    enum redact_verdict verdict;
    bytes row;

    for (;;) {
        TRY(pipeline_pull(run, number - 1, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
        arena_reset(o->scratch);
        struct redaction r = {
            .run = run, .o = o, .root = {.type = VALUE_DOCUMENT, .raw = row}
        };
        TRY(judge(&r, r.root, &verdict));
        if (verdict == REDACT_PRUNE)
            continue;
        *out = row;
        if (verdict == REDACT_KEEP)
            return STATUS_OK;
        struct buffer built = buffer_in(o->scratch);
        size_t begun = document_begin(&built);
        TRY(redact_fields(&r, row, &built));
        document_end(&built, begun);
        return buffer_finish(&built, out);
    }
}
