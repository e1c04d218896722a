/* Foreign: the mark of a collection that another face has written into. One field of the options.
 *
 * Pure apart from the arena. */
#include "front/foreign.h"

#define FIELD "foreign"

bool foreign_is_marked(const struct collection *collection)
{
    bytes options = collection->definition.options;
    struct value mark;

    return options.len > 0 && document_find(options, FIELD, &mark);
}

status foreign_mark(struct arena *arena, bytes options, bytes *out)
{
    struct buffer made = buffer_in(arena);
    size_t begun = document_begin(&made);

    if (options.len > 0) {
        struct document_walk walk = document_fields(options);
        struct field field;
        while (document_next(&walk, &field)) {
            if (!bytes_equal(field.name, BYTES_LITERAL(FIELD)))
                document_append(&made, field.name, field.value);
        }
    }
    document_append_bool(&made, FIELD, true);
    document_end(&made, begun);
    return buffer_finish(&made, out);
}
