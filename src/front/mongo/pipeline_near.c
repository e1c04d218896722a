/* Pipeline near: the stage $geoNear.
 *
 *   $geoNear = { near: point, distanceField: path, spherical, key, query, minDistance, maxDistance,
 *                distanceMultiplier, includeLocs }
 *
 * It is written as two stages: a condition that asks for nearness ($near or $nearSphere beside `query`), by which
 * documents are found in that order, and one that puts the distance into them. Without a key, it is that of the only
 * geographic index of the collection.
 *
 * Threads: pure apart from the arena; pipeline_complete_near() belongs to the command. */
#include "front/mongo/filter.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/pipeline_parts.h"

struct near_options {
    struct value near, spherical, key, query, least, most, multiplier, distance_field, locs_field;
};

static status take_option(struct pipeline_parser *p, const struct field *field,
                          struct near_options *out)
{
    const struct {
        const char *name;
        struct value *option;
    } rows[] = {
        {"near",                &out->near          },
        { "spherical",          &out->spherical     },
        { "key",                &out->key           },
        { "query",              &out->query         },
        { "minDistance",        &out->least         },
        { "maxDistance",        &out->most          },
        { "distanceMultiplier", &out->multiplier    },
        { "distanceField",      &out->distance_field},
        { "includeLocs",        &out->locs_field    },
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (pipeline_is_named(field->name, rows[i].name)) {
            *rows[i].option = field->value;
            return STATUS_OK;
        }
    }
    if (pipeline_is_named(field->name, "uniqueDocs"))
        return STATUS_OK; /* of older servers */
    if (pipeline_is_named(field->name, "limit") || pipeline_is_named(field->name, "num"))
        return fault_raise(p->arena, p->fault, 50858,
                           "$geoNear no longer supports the '%.*s' parameter. Use a $limit stage "
                           "instead.",
                           (int)field->name.len, (const char *)field->name.data);
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "Unknown argument to $geoNear: %.*s", (int)field->name.len,
                       (const char *)field->name.data);
}

static status check_number(struct pipeline_parser *p, struct value value, const char *name)
{
    if (value.type == VALUE_MISSING || (value_is_number(value) && value_as_double(value) >= 0))
        return STATUS_OK;
    return fault_raise(p->arena, p->fault,
                       value_is_number(value) ? ERROR_BadValue : ERROR_TypeMismatch,
                       "$geoNear %s must be a nonnegative number", name);
}

static status check_text(struct pipeline_parser *p, struct value value, int32_t code,
                         const char *name)
{
    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    if (value.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, code,
                           "$geoNear parameter '%s' must be of type string but found type: %s",
                           name, value_type_name(value.type));
    if (value_text(value).len == 0 || value_text(value).data[0] == '$')
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$geoNear parameter '%s' must be a field path: neither empty nor begin "
                           "with '$'",
                           name);
    return STATUS_OK;
}

static status check_options(struct pipeline_parser *p, const struct near_options *o)
{
    if (o->near.type != VALUE_DOCUMENT && o->near.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, 5860400,
                           "$geoNear requires a 'near' option as an Object or an Array");
    if (o->query.type != VALUE_MISSING && o->query.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "$geoNear parameter 'query' must be an object");
    TRY(check_number(p, o->least, "minDistance"));
    TRY(check_number(p, o->most, "maxDistance"));
    TRY(check_number(p, o->multiplier, "distanceMultiplier"));
    TRY(check_text(p, o->distance_field, 16606, "distanceField"));
    TRY(check_text(p, o->locs_field, 16607, "includeLocs"));
    TRY(check_text(p, o->key, ERROR_TypeMismatch, "key"));
    if (o->key.type == VALUE_MISSING)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$geoNear needs the parameter 'key' here");
    return STATUS_OK;
}

/* { key: { $nearSphere: near, $minDistance: ..., $maxDistance: ... } } */
static status near_filter(struct pipeline_parser *p, const struct near_options *o, bytes *out)
{
    struct buffer filter = buffer_in(p->arena), near = buffer_in(p->arena);
    bool is_spherical = o->spherical.type != VALUE_MISSING && formula_is_true(o->spherical);
    size_t begun = document_begin(&filter), inside = document_begin(&near);
    struct value condition = { .type = VALUE_DOCUMENT };

    document_append(&near, is_spherical ? BYTES_LITERAL("$nearSphere") : BYTES_LITERAL("$near"),
                    o->near);
    if (o->least.type != VALUE_MISSING)
        document_append(&near, BYTES_LITERAL("$minDistance"), o->least);
    if (o->most.type != VALUE_MISSING)
        document_append(&near, BYTES_LITERAL("$maxDistance"), o->most);
    document_end(&near, inside);
    TRY(buffer_finish(&near, &condition.raw));
    document_append(&filter, value_text(o->key), condition);
    document_end(&filter, begun);
    return buffer_finish(&filter, out);
}

status stage_geo_near(struct pipeline_parser *p, struct value argument)
{
    struct value nothing = { .type = VALUE_MISSING };
    struct near_options o = { nothing, nothing, nothing, nothing, nothing,
                              nothing, nothing, nothing, nothing };
    const struct match *parts[2] = { NULL };
    struct stage *stage;
    struct field field;
    bytes filter;

    TRY(pipeline_need_document(p, argument, 10065, "$geoNear"));
    if (p->count > 0)
        return fault_raise(p->arena, p->fault, 40603,
                           "$geoNear was not the first stage in the pipeline.");
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(take_option(p, &field, &o));
    TRY(check_options(p, &o));
    TRY(near_filter(p, &o, &filter));
    TRY(filter_parse_sorting(p->arena, filter, p->scope, &parts[0], p->fault));
    if (o.query.type == VALUE_DOCUMENT)
        TRY(filter_parse(p->arena, value_document(o.query), p->scope, &parts[1], p->fault));
    TRY(pipeline_add(p, STAGE_MATCH, &stage));
    TRY(match_join(p->arena, MATCH_AND, parts, parts[1] ? 2 : 1, &stage->match));
    TRY(pipeline_add(p, STAGE_NEAR, &stage));
    stage->match = parts[0];
    stage->scale = value_is_number(o.multiplier) ? value_as_double(o.multiplier) : 1;
    if (o.distance_field.type == VALUE_STRING)
        stage->name = value_text(o.distance_field);
    if (o.locs_field.type == VALUE_STRING)
        stage->position_name = value_text(o.locs_field);
    return STATUS_OK;
}

/* ---- the key ---------------------------------------------------------------------------------------- */

/* The path of the only index of the type; its count is told. */
static size_t count_indexes(const struct collection *collection, bool is_flat, bytes *path_out)
{
    size_t count = 0;

    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        bool is_counted = false;
        for (size_t k = 0; index_is_usable(index) && k < index->definition.field_count; k++) {
            const struct index_field *field = &index->definition.fields[k];
            struct value low;
            if (field->part != PART_CELLS ||
                (field->settings.len > 0 && document_find(field->settings, "low", &low)) != is_flat)
                continue;
            *path_out = count == 0 ? field->path : *path_out;
            is_counted = true;
        }
        count += is_counted;
    }
    return count;
}

static status find_key(struct command *command, const struct collection *collection, bytes *out)
{
    for (int i = 0; i < 2; i++) {
        bool is_flat = i == 0;
        size_t count = count_indexes(collection, is_flat, out);
        if (count > 1)
            return command_fail(command, ERROR_IndexNotFound,
                                "There is more than one %s index on %.*s.%.*s; unsure which to use "
                                "for $geoNear",
                                is_flat ? "2d" : "2dsphere",
                                (int)collection->definition.database.len,
                                (const char *)collection->definition.database.data,
                                (int)collection->definition.name.len,
                                (const char *)collection->definition.name.data);
        if (count == 1)
            return STATUS_OK;
    }
    return command_fail(command, ERROR_IndexNotFound,
                        "$geoNear requires a 2d or 2dsphere index, but none were found");
}

/* The options, and the key behind them. */
static status add_key(struct arena *arena, bytes options, bytes key, struct value *out)
{
    struct buffer built = buffer_in(arena);
    struct document_walk walk = document_fields(options);
    size_t begun = document_begin(&built), stage = 0;
    struct field field;

    stage = reply_begin(&built, "$geoNear");
    while (document_next(&walk, &field))
        document_append(&built, field.name, field.value);
    reply_bytes(&built, "key", key);
    document_end(&built, stage);
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

status pipeline_complete_near(struct command *command, struct arena *arena,
                              const struct collection *collection, bytes *stages)
{
    struct document_walk walk = document_fields(*stages);
    struct buffer list = buffer_in(arena);
    struct value options, key;
    struct field stage;
    bytes path = BYTES_LITERAL("location"); /* of nothing */

    if (!document_next(&walk, &stage) || stage.value.type != VALUE_DOCUMENT ||
        !document_find(value_document(stage.value), "$geoNear", &options) ||
        options.type != VALUE_DOCUMENT || document_find(value_document(options), "key", &key))
        return STATUS_OK;
    if (collection)
        TRY(find_key(command, collection, &path));
    size_t begun = document_begin(&list);
    TRY(add_key(arena, value_document(options), path, &stage.value));
    do {
        document_append(&list, stage.name, stage.value);
    } while (document_next(&walk, &stage));
    document_end(&list, begun);
    return buffer_finish(&list, stages);
}
