/* Index ranked: one entry for each document, in the order of several fields.
 *
 * Other indexes over fields follow the order of keys, and go into arrays. This one orders whole values: first by
 * their kind (missing, null, bool, number, string, array, document, others), then within the kind. Nobody is left out,
 * and nobody is there twice, so that walking it gives every document in order.
 *
 * An entry is, for each field, a byte for the kind and the encoded value, both complemented if the field
 * is descending. A value takes at most a fair share of a key; what is longer is cut, and then those that begin alike
 * are equal. Two shares that differ do so before either ends, so cut ones may stand one behind the other.
 *
 * Pure apart from the buffer and the arena. */
#include "engine/index.h"

static enum scan_rank rank_of(enum value_type type)
{
    static const struct {
        enum value_type type;
        enum scan_rank rank;
    } rows[] = {
        {VALUE_MISSING,     RANK_MISSING },
        { VALUE_UNDEFINED,  RANK_MISSING },
        { VALUE_NULL,       RANK_NULL    },
        { VALUE_BOOL,       RANK_BOOL    },
        { VALUE_INT32,      RANK_NUMBER  },
        { VALUE_INT64,      RANK_NUMBER  },
        { VALUE_DOUBLE,     RANK_NUMBER  },
        { VALUE_DECIMAL128, RANK_NUMBER  },
        { VALUE_STRING,     RANK_STRING  },
        { VALUE_SYMBOL,     RANK_STRING  },
        { VALUE_ARRAY,      RANK_ARRAY   },
        { VALUE_DOCUMENT,   RANK_DOCUMENT},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (rows[i].type == type)
            return rows[i].rank;
    }
    return RANK_OTHER;
}

bool scan_append_ranked_value(struct buffer *out, const struct index *index, size_t field,
                              struct value value)
{
    const struct index_definition *definition = &index->definition;
    enum key_order order = definition->fields[field].order;
    size_t room = LIMIT_QUERY_SORT_KEY_BYTES / definition->field_count, start = out->len;
    uint8_t rank = (uint8_t)rank_of(value.type);

    buffer_append_byte(out, order == KEY_DESCENDING ? (uint8_t)~rank : rank);
    if (value.type == VALUE_UNDEFINED)
        value.type = VALUE_MISSING;
    key_append_value(out, value, order);
    bool is_cut = out->len - start > room;
    if (is_cut)
        out->len = start + room;
    return is_cut;
}

/* Arrays are not entered: nothing lies at a name within them. */
static struct value value_at(bytes document, const struct path *path)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };

    for (size_t i = 0; i < path->count; i++) {
        if (value.type != VALUE_DOCUMENT ||
            !document_find_bytes(value_document(value), path->parts[i], &value))
            return (struct value){ .type = VALUE_MISSING };
    }
    return value;
}

status index_collect_ranked(struct arena *arena, const struct index *index, bytes document,
                            struct index_entries *out)
{
    struct buffer key = buffer_in(arena);
    bytes values;

    for (size_t i = 0; i < index->definition.field_count; i++)
        scan_append_ranked_value(&key, index, i, value_at(document, index->paths[i]));
    TRY(buffer_finish(&key, &values));
    return index_entries_add(arena, out, index->id, values);
}
