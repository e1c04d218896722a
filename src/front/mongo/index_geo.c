/* Index geography: indexes over where documents lie, 2dsphere and 2d.
 *
 * A 2dsphere field holds GeoJSON and pairs of degrees on the ball; a 2d field, the first of its index, holds points of
 * the plane from `min` to `max`. Both leave out documents that have nothing there; only where an index has several
 * such fields, documents without one of them are held all the same, because they may have another.
 *
 * Threads: the command's. */
#include "front/mongo/index_kind.h"

#include <math.h>

enum { SPHERE_VERSION = 3 };

static bool is_type(struct value type, const char *name)
{
    return type.type == VALUE_STRING && bytes_equal(value_text(type), bytes_of_text(name));
}

bool index_is_of_places(struct value type)
{
    return is_type(type, "2dsphere") || is_type(type, "2d");
}

static bool find_option(const struct index_spec *spec, const char *name, struct value *out)
{
    return spec->others.len > 0 && document_find(spec->others, name, out);
}

static double number_option(const struct index_spec *spec, const char *name, double otherwise)
{
    struct value value;

    return find_option(spec, name, &value) && value_is_number(value) ? value_as_double(value)
                                                                     : otherwise;
}

static status check_plane(struct command *command, const struct index_spec *spec)
{
    double low = number_option(spec, "min", -180), high = number_option(spec, "max", 180);
    double bits = number_option(spec, "bits", 26);

    if (!(low < high) || !isfinite(low) || !isfinite(high))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "region for hash must be valid and have positive area, but [%g, %g] "
                            "was specified",
                            low, high);
    if (!(bits > 0) || bits > 32)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "bits for hash must be > 0 and <= 32, but %g bits were specified",
                            bits);
    return STATUS_OK;
}

/* Clients are told the version even if they did not ask for one. */
static status add_version(struct command *command, struct index_spec *spec)
{
    struct buffer others = buffer_in(command->arena);
    size_t begun = document_begin(&others);
    struct field field;

    if (spec->others.len > 0) {
        struct document_walk walk = document_fields(spec->others);
        while (document_next(&walk, &field))
            document_append(&others, field.name, field.value);
    }
    reply_int32(&others, "2dsphereIndexVersion", SPHERE_VERSION);
    document_end(&others, begun);
    return buffer_finish(&others, &spec->others);
}

static status check_version(struct command *command, struct index_spec *spec)
{
    struct value version;
    int64_t number;

    if (!find_option(spec, "2dsphereIndexVersion", &version))
        return add_version(command, spec);
    if (value_as_int64(version, &number) && number >= 1 && number <= SPHERE_VERSION)
        return STATUS_OK;
    return command_fail(command, ERROR_CannotCreateIndex,
                        "unsupported geo index version { 2dsphereIndexVersion : %g }, only support "
                        "versions: [1,2,3]",
                        value_is_number(version) ? value_as_double(version) : NAN);
}

status index_check_places(struct command *command, struct index_spec *spec)
{
    struct document_walk walk = document_fields(spec->key);
    size_t spheres = 0, planes = 0, count = 0;
    struct field field;

    for (; document_next(&walk, &field); count++) {
        spheres += is_type(field.value, "2dsphere");
        planes += is_type(field.value, "2d");
        if (is_type(field.value, "2d") && count > 0)
            return command_fail(command, 16801, "2d has to be first in index");
        if (field.value.type == VALUE_STRING && !index_is_of_places(field.value))
            spheres = planes = 1;
    }
    if ((spheres > 0 && planes > 0) || index_spec_is_wildcard(spec))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Can't use more than one index plugin for a single index.");
    return planes > 0 ? check_plane(command, spec) : check_version(command, spec);
}

static size_t count_places(const struct index_spec *spec)
{
    struct document_walk walk = document_fields(spec->key);
    struct field field;
    size_t count = 0;

    while (document_next(&walk, &field))
        count += index_is_of_places(field.value);
    return count;
}

status index_define_places(struct arena *arena, const struct index_spec *spec, struct value type,
                           struct index_field *out)
{
    struct buffer settings = buffer_in(arena);
    size_t begun = document_begin(&settings);

    out->part = PART_CELLS;
    if (is_type(type, "2d")) {
        reply_double(&settings, "low", number_option(spec, "min", -180));
        reply_double(&settings, "high", number_option(spec, "max", 180));
    }
    if (count_places(spec) > 1)
        reply_bool(&settings, "keeps", true);
    document_end(&settings, begun);
    return buffer_finish(&settings, &out->settings);
}
