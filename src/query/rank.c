/* Rank: BM25, how well a text fits a search.
 *
 * A phrase counts more the more often the text has it, the fewer texts have it, and the shorter the text is
 * compared with the average. So all texts are counted before the first score: documents, words, and for
 * each phrase the documents that have it. The counts travel from page to page, because scores by other
 * counts could not be compared with those of the pages before.
 *
 * Threads: belongs to its request. */
#include "query/rank.h"

#include <math.h>
#include <stdio.h>

#include "query/call.h"
#include "query/words.h"

/* How fast further occurrences stop to matter, and how much the length of the text does. */
#define SATURATION 1.2
#define LENGTH_SHARE 0.75

/* ---- what is looked for ----------------------------------------------------------------------------- */

/* A phrase, or an array of them. */
static size_t count_phrases(struct value value)
{
    return value.type == VALUE_ARRAY ? document_field_count(value_document(value)) : 1;
}

static status add_phrase(struct arena *arena, struct rank_words *search, struct value value)
{
    search->is_sound = search->is_sound && value_is_text(value);
    if (!search->is_sound)
        return STATUS_OK;
    return words_of(arena, value_text(value), &search->phrases[search->phrase_count++]);
}

static status open_search(struct arena *arena, const struct expression *call,
                          struct rank_words *out)
{
    struct field field;
    size_t room = 0;

    *out = (struct rank_words){ .call = call, .is_sound = true };
    for (size_t i = 1; i < call->count; i++)
        room += count_phrases(call->args[i]->literal);
    TRY(ARENA_NEW(arena, room, &out->phrases));
    TRY(ARENA_NEW(arena, room, &out->hits));
    for (size_t i = 1; i < call->count; i++) {
        struct value value = call->args[i]->literal;
        if (value.type != VALUE_ARRAY) {
            TRY(add_phrase(arena, out, value));
            continue;
        }
        struct document_walk walk = document_fields(value_document(value));
        while (document_next(&walk, &field))
            TRY(add_phrase(arena, out, field.value));
    }
    for (size_t i = 0; i < out->phrase_count; i++)
        out->hits[i] = 0;
    return STATUS_OK;
}

status rank_open(struct arena *arena, const struct query_rank *query, struct rank **out)
{
    TRY(ARENA_NEW(arena, 1, out));
    **out = (struct rank){ .search_count = query->search_count };
    TRY(ARENA_NEW(arena, query->search_count, &(*out)->searches));
    for (size_t i = 0; i < query->search_count; i++)
        TRY(open_search(arena, query->searches[i], &(*out)->searches[i]));
    return STATUS_OK;
}

/* ---- counting --------------------------------------------------------------------------------------- */

status rank_add(struct rank *rank, struct evaluation *e)
{
    struct value text;
    bytes words;

    rank->documents++;
    for (size_t i = 0; i < rank->search_count; i++) {
        struct rank_words *search = &rank->searches[i];
        TRY(evaluate(e, search->call->args[0], &text));
        if (!value_is_text(text))
            continue;
        TRY(words_of(e->arena, value_text(text), &words));
        search->words += (double)words_count(words);
        for (size_t j = 0; j < search->phrase_count; j++)
            search->hits[j] += words_find(words, search->phrases[j]) > 0;
    }
    return STATUS_OK;
}

/* All numbers one behind the other; they are counts, so nothing is lost in a double. */
static size_t number_count(const struct rank *rank)
{
    size_t count = 1;

    for (size_t i = 0; i < rank->search_count; i++)
        count += 1 + rank->searches[i].phrase_count;
    return count;
}

static double *number_at(struct rank *rank, size_t number)
{
    if (number == 0)
        return &rank->documents;
    number--;
    for (size_t i = 0; i < rank->search_count; i++) {
        struct rank_words *search = &rank->searches[i];
        if (number == 0)
            return &search->words;
        if (number <= search->phrase_count)
            return &search->hits[number - 1];
        number -= search->phrase_count + 1;
    }
    return NULL;
}

status rank_write(const struct rank *rank, struct arena *arena, bytes *out)
{
    struct buffer built = buffer_in(arena);
    struct rank known = *rank;
    struct value value;
    char name[24];

    size_t begun = document_begin(&built);
    for (size_t i = 0; i < number_count(rank); i++) {
        int len = snprintf(name, sizeof(name), "%zu", i);
        TRY(value_of_double(arena, *number_at(&known, i), &value));
        document_append(&built, bytes_of(name, (size_t)len), value);
    }
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

status rank_read(struct rank *rank, bytes counted)
{
    struct field field;
    size_t at = 0, count = number_count(rank);

    if (counted.len == 0 || document_field_count(counted) != count)
        return status_of(INVALID, "the state has no counts of this query");
    struct document_walk walk = document_fields(counted);
    while (document_next(&walk, &field)) {
        double number = value_is_number(field.value) ? value_as_double(field.value) : -1;
        if (!isfinite(number) || number < 0)
            return status_of(INVALID, "the state has counts that nobody has counted");
        *number_at(rank, at++) = number;
    }
    return STATUS_OK;
}

/* ---- scores ----------------------------------------------------------------------------------------- */

static double score_of(const struct rank *rank, const struct rank_words *search, bytes words)
{
    double average = search->words / fmax(1, rank->documents);
    double length = (double)words_count(words) / fmax(1, average);
    double score = 0;

    for (size_t i = 0; i < search->phrase_count; i++) {
        double often = (double)words_find(words, search->phrases[i]);
        /* Between pages there may have come more of them than were counted. */
        double others = fmax(0, rank->documents - search->hits[i]);
        double rarity = log(1 + (others + 0.5) / (search->hits[i] + 0.5));
        score += rarity * often * (SATURATION + 1) /
                 (often + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length));
    }
    return score;
}

status rank_score(const struct rank *rank, struct arena *arena, const struct expression *call,
                  struct value text, bool *has_out, double *out)
{
    const struct rank_words *search = NULL;
    bytes words;

    *has_out = false;
    for (size_t i = 0; rank && i < rank->search_count; i++) {
        if (rank->searches[i].call == call)
            search = &rank->searches[i];
    }
    if (!search || !search->is_sound || !value_is_text(text))
        return STATUS_OK;
    TRY(words_of(arena, value_text(text), &words));
    *has_out = true;
    *out = score_of(rank, search, words);
    return STATUS_OK;
}
