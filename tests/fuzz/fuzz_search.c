/* Fuzz: what is searched for in texts, and texts: the first line is the search, with its wishes as its first byte, the rest
 * is the text of a document. A search finds itself where it has words and rules nothing out, and gives the same number
 * every time. */
#include "query/search.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool is_true)
{
    if (!is_true)
        abort();
}

static bytes write_text(struct arena *arena, const char *name, bytes text)
{
    struct buffer out = buffer_in(arena);
    size_t begun = document_begin(&out);
    bytes document;

    document_append_text(&out, name, text);
    document_end(&out, begun);
    need(buffer_finish(&out, &document).code == OK);
    return document;
}

static bytes write_settings(struct arena *arena, bool has_language)
{
    struct buffer out = buffer_in(arena);
    size_t begun = document_begin(&out);
    size_t weights = document_begin_inner(&out, VALUE_DOCUMENT, BYTES_LITERAL("weights"));
    bytes settings;

    document_append_int64(&out, "$**", 3);
    document_end(&out, weights);
    document_append_text(&out, "language",
                         has_language ? BYTES_LITERAL("english") : BYTES_LITERAL("none"));
    document_end(&out, begun);
    need(buffer_finish(&out, &settings).code == OK);
    return settings;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    const uint8_t *line = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
    struct index_field field = { .path = BYTES_LITERAL("_fts"), .part = PART_WORDS };
    struct index_values values = { 0 };
    struct search *search;
    double score, again;
    bool fits, fits_again;

    need(arena != NULL);
    if (line && text_is_utf8(bytes_of(data + 1, size - 1))) {
        struct search_wish wish = { .text = bytes_of(data + 1, (size_t)(line - data) - 1),
                                    .is_case_sensitive = data[0] & 1,
                                    .is_diacritic_sensitive = data[0] & 2 };
        bytes text = bytes_of(line + 1, size - (size_t)(line - data) - 1);
        bytes document = write_text(arena, "a", text), told;
        field.settings = write_settings(arena, data[0] & 4);
        if (search_open(arena, &wish, &field, &search).code == OK) {
            need(search_document(search, arena, document, &fits, &score).code == OK);
            need(search_document(search, arena, document, &fits_again, &again).code == OK);
            need(fits == fits_again && score == again && score >= 0);
            need(search_tell(search, arena, &told).code == OK);
            need(search_index_values(arena, &field, document, &values).code == OK);
            need(!fits || (values.count > 0 && search_terms(search).count > 0));
        }
    }
    arena_close(arena);
    return 0;
}
