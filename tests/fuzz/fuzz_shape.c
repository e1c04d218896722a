/* Fuzz shapes: any two JSON values under "a" and "b" are refused with a reason, or are shapes that lie to each
 * other in the same way from both sides, on the earth and in the plane. As geometries of documents, those that have
 * something in common have it in cells of both. */
#include "query/geometry_cells.h"

enum { BUDGET = 64 * 1024 * 1024, TEXT_BYTES_MAX = 4096, PAIRS = 1000000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_field(struct shape_work *work, enum space space, bytes document, const char *name,
                       struct shape *out)
{
    struct value value;
    const char *reason = "";

    document_find(document, name, &value);
    status s = shape_read(work, space, value, out, &reason);
    ASSERT(s.code == OK || s.code == TOO_LARGE || s.code == OUT_OF_MEMORY);
    ASSERT(s.code != OK || !reason || reason[0] != 0);
    return s.code == OK && !reason;
}

static void relate(struct shape_work *work, const struct shape *a, const struct shape *b)
{
    bool is_common, is_common_too, is_within;
    double distance;

    if (shape_intersects(work, a, b, &is_common).code != OK ||
        shape_intersects(work, b, a, &is_common_too).code != OK)
        return;
    ASSERT(is_common == is_common_too);
    if (shape_distance(work, a, b, &distance).code == OK) {
        ASSERT(!(distance < 0));
        ASSERT((distance == 0) == is_common);
    }
    if (shape_is_within(work, a, b, &is_within).code == OK)
        ASSERT(!is_within || a->dimension <= b->dimension);
    ASSERT(!(shape_area(a) < 0) || a->space == SPACE_FLAT);
}

static bool read_geometry(struct shape_work *work, bytes document, const char *name,
                          struct geometry_wish *out)
{
    struct value value;
    const char *reason = "";

    document_find(document, name, &value);
    status s = geometry_read(work, SPACE_BALL, value, &out->geometry, &reason);
    ASSERT(s.code != OK || !reason || reason[0] != 0);
    return s.code == OK && !reason;
}

static bool has_common(const struct cells *a, const struct cells *b)
{
    for (size_t i = 0; i < a->count; i++) {
        struct cell_range one = cell_range(a->items[i]);
        for (size_t j = 0; j < b->count; j++) {
            struct cell_range other = cell_range(b->items[j]);
            if (one.first <= other.last && other.first <= one.last)
                return true;
        }
    }
    return false;
}

static void relate_geometries(struct shape_work *work, bytes document)
{
    struct geometry_wish a = { .relation = GEOMETRY_INTERSECTS }, b = a;
    const struct index_field field = { .path = BYTES_LITERAL("a"), .part = PART_CELLS };
    static const struct cell_grid ball;
    struct index_values values = { 0 };
    struct cells of_a, of_b;
    bool is_common;

    if (!read_geometry(work, document, "a", &a))
        return;
    status s = geometry_index_values(work->arena, &field, document, &values);
    ASSERT(s.code != OK || values.count > 0);
    if (read_geometry(work, document, "b", &b) &&
        geometry_intersects(work, &a.geometry, &b.geometry, &is_common).code == OK && is_common &&
        geometry_cover(work->arena, &ball, &a, NULL, &of_a).code == OK &&
        geometry_cover(work->arena, &ball, &b, NULL, &of_b).code == OK)
        ASSERT(has_common(&of_a, &of_b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    struct shape_work work = { .arena = arena, .pairs = PAIRS };
    struct shape a, b;
    bytes document;

    if (size <= TEXT_BYTES_MAX && json_read(arena, bytes_of(data, size), &document).code == OK) {
        for (enum space space = SPACE_ROUND; space <= SPACE_BALL; space++) {
            if (read_field(&work, space, document, "a", &a) &&
                read_field(&work, space, document, "b", &b))
                relate(&work, &a, &b);
        }
        relate_geometries(&work, document);
    }
    arena_close(arena);
    return 0;
}
