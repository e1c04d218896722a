/* Search: what is looked for in texts, and how well a document fits.
 *
 *   wish   = { [ '-' ] ( word | '"' phrase '"' ) }
 *
 * A minus counts only in front of a word or phrase and behind a space, or at the beginning; elsewhere it parts words.
 * The words of phrases are looked for like all others. A phrase is there if one text of the document has it, letter by
 * letter after folding. Where case or accents count, the document must have one of the words in that form, too.
 *
 * Of one text, a stem that is there n times among t words counts
 *     weight * (1 + 1/2 + 1/4 + ... n terms) * (0.5 + 0.5 * n / t)
 * and a tenth more if it is the whole text. The score of a document is the sum over all texts and all stems that are
 * looked for. Clients compare these numbers with those of other servers, so they are not ours to change.
 *
 * Threads: a search is immutable after search_open(). Start reading at search_document(). */
#include "query/search.h"

#include "query/search_parts.h"
#include "query/set.h"
#include "query/text.h"
#include "query/words.h"

/* Stems are kept in the index up to here; longer ones that begin alike are told apart by the document. */
enum { TERM_BYTES_MAX = 128 };
/* Of one kind in a search. */
enum { TERMS_MAX = 1000 };

struct term_list {
    bytes items[TERMS_MAX];
    size_t count;
};

struct search {
    struct search_fold fold;
    const struct language *language;
    bytes settings;
    struct term_list *terms;   /* stems, folded as the index has them */
    struct term_list *exact;   /* the same, folded as it is wished; only if that is another thing */
    struct term_list *negated; /* as it is wished */
    struct term_list *phrases, *negated_phrases;
    bytes *encoded;
};

bool search_has_language(bytes name)
{
    return language_find(name) != NULL;
}

/* ---- parsing ----------------------------------------------------------------------------------------- */

static status add_term(struct arena *arena, struct term_list *list, bytes term)
{
    for (size_t i = 0; i < list->count; i++) {
        if (bytes_equal(list->items[i], term))
            return STATUS_OK;
    }
    if (list->count == TERMS_MAX)
        return status_fail(arena, TOO_LARGE, "a search has more than %d words", TERMS_MAX);
    return arena_copy(arena, term, &list->items[list->count++]);
}

static status add_words(struct search *search, struct arena *arena, struct search_fold fold,
                        bytes text, struct term_list *list)
{
    struct search_words words = { .language = search->language, .fold = fold };
    status s = STATUS_OK;
    bytes stem;

    words.stemmer = stemmer_open(search->language);
    search_words_begin(&words, arena, text);
    while (s.code == OK && search_words_next(&words, &stem))
        s = add_term(arena, list, stem);
    stemmer_close(words.stemmer);
    return s;
}

static bool is_sensitive(const struct search *search)
{
    return search->fold.keeps_case || search->fold.keeps_diacritics;
}

static status add_part(struct search *search, struct arena *arena, bytes text, bool is_negated)
{
    static const struct search_fold plain;

    if (is_negated)
        return add_words(search, arena, search->fold, text, search->negated);
    TRY(add_words(search, arena, plain, text, search->terms));
    return is_sensitive(search) ? add_words(search, arena, search->fold, text, search->exact)
                                : STATUS_OK;
}

static status add_phrase(struct search *search, struct arena *arena, bytes text, bool is_negated)
{
    bytes folded;

    TRY(search_fold_text(arena, search->fold, text, &folded));
    if (folded.len == 0)
        return STATUS_OK;
    TRY(add_term(arena, is_negated ? search->negated_phrases : search->phrases, folded));
    return is_negated ? STATUS_OK : add_part(search, arena, text, false);
}

/* Where the phrase ends whose quote was opened before `at`. */
static size_t end_of_phrase(bytes text, size_t at)
{
    while (at < text.len && text.data[at] != '"')
        at++;
    return at;
}

/* Where the word ends: at a space, a quote, or a minus that parts words. */
static size_t end_of_word(bytes text, size_t at)
{
    while (at < text.len && text.data[at] > ' ' && text.data[at] != '"' && text.data[at] != '-')
        at++;
    return at;
}

static status parse_wish(struct search *search, struct arena *arena, bytes text)
{
    bool is_behind_space = true;

    for (size_t at = 0; at < text.len;) {
        bool is_negated = text.data[at] == '-' && is_behind_space && at + 1 < text.len &&
                          text.data[at + 1] > ' ' && text.data[at + 1] != '-';
        size_t start = at + is_negated;
        if (text.data[start] == '"') {
            size_t end = end_of_phrase(text, start + 1);
            bytes phrase = bytes_of(text.data + start + 1, end - start - 1);
            TRY(add_phrase(search, arena, phrase, is_negated));
            at = end + 1;
            is_behind_space = true;
            continue;
        }
        size_t end = end_of_word(text, start);
        if (end > start)
            TRY(add_part(search, arena, bytes_of(text.data + start, end - start), is_negated));
        at = end > start ? end : start + 1;
        is_behind_space = at > 0 && at <= text.len && text.data[at - 1] <= ' ';
    }
    return STATUS_OK;
}

/* As the index has it. */
static status encode_term(struct arena *arena, bytes term, bytes *out)
{
    struct buffer key = buffer_in(arena);
    struct value value;

    if (term.len > TERM_BYTES_MAX) {
        term.len = TERM_BYTES_MAX;
        while (term.len && (term.data[term.len] & 0xC0) == 0x80)
            term.len--;
    }
    TRY(value_of_text(arena, term, &value));
    key_append_value(&key, value, KEY_ASCENDING);
    return buffer_finish(&key, out);
}

static status open_lists(struct arena *arena, struct search *search)
{
    TRY(ARENA_NEW(arena, 1, &search->terms));
    TRY(ARENA_NEW(arena, 1, &search->exact));
    TRY(ARENA_NEW(arena, 1, &search->negated));
    TRY(ARENA_NEW(arena, 1, &search->phrases));
    return ARENA_NEW(arena, 1, &search->negated_phrases);
}

static bytes language_name_of(const struct search_wish *wish, bytes settings)
{
    struct value value;

    if (wish->language.len)
        return wish->language;
    return document_find(settings, "language", &value) && value.type == VALUE_STRING
               ? value_text(value)
               : BYTES_LITERAL("english");
}

status search_open(struct arena *arena, const struct search_wish *wish,
                   const struct index_field *field, struct search **out)
{
    struct search *search;

    *out = NULL;
    TRY(ARENA_NEW(arena, 1, &search));
    *search = (struct search){
        .fold = {wish->is_case_sensitive, wish->is_diacritic_sensitive},
        .language = language_find(language_name_of(wish, field->settings)),
        .settings = field->settings
    };
    if (!search->language)
        return status_of(INVALID, "the language of a search is not known");
    TRY(open_lists(arena, search));
    TRY(parse_wish(search, arena, wish->text));
    TRY(ARENA_NEW(arena, search->terms->count, &search->encoded));
    for (size_t i = 0; i < search->terms->count; i++)
        TRY(encode_term(arena, search->terms->items[i], &search->encoded[i]));
    *out = search;
    return STATUS_OK;
}

struct search_terms search_terms(const struct search *search)
{
    return (struct search_terms){ search->encoded, search->terms->count };
}

/* ---- one document ------------------------------------------------------------------------------------ */

struct looking {
    const struct search *search;
    struct arena *scratch;
    double score;
    bool has_exact, has_negated;
    bool *has_phrase;
    unsigned *counts; /* of each term, in the text that is read */
};

static bool is_in(const struct term_list *list, bytes term)
{
    for (size_t i = 0; i < list->count; i++) {
        if (bytes_equal(list->items[i], term))
            return true;
    }
    return false;
}

static double score_of(unsigned count, size_t words, double weight)
{
    double frequency = 0, share = 1;

    for (unsigned i = 0; i < count && share > 1e-12; i++, share /= 2)
        frequency += share;
    return weight * frequency * (0.5 * count / (double)words + 0.5);
}

static bool is_whole(bytes text, bytes term)
{
    if (text.len != term.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != term.data[i])
            return false;
    }
    return true;
}

static void add_score(struct looking *looking, struct search_words *words,
                      const struct search_text *text)
{
    const struct term_list *terms = looking->search->terms;
    size_t count = 0;
    bytes stem;

    memset(looking->counts, 0, terms->count * sizeof(*looking->counts));
    words->fold = (struct search_fold){ 0 };
    search_words_begin(words, looking->scratch, text->text);
    for (; search_words_next(words, &stem); count++) {
        for (size_t i = 0; i < terms->count; i++)
            looking->counts[i] += bytes_equal(terms->items[i], stem);
        if (!is_sensitive(looking->search) && is_in(looking->search->negated, stem))
            looking->has_negated = true;
    }
    for (size_t i = 0; i < terms->count; i++) {
        if (looking->counts[i])
            looking->score += score_of(looking->counts[i], count, text->weight) *
                              (is_whole(text->text, terms->items[i]) ? 1.1 : 1);
    }
}

static void ask_exactly(struct looking *looking, struct search_words *words, bytes text)
{
    const struct search *search = looking->search;
    bytes stem;

    words->fold = search->fold;
    search_words_begin(words, looking->scratch, text);
    while (search_words_next(words, &stem)) {
        looking->has_exact |= is_in(search->exact, stem);
        looking->has_negated |= is_in(search->negated, stem);
    }
}

static bool has_phrase(bytes text, bytes phrase)
{
    return phrase.len == 0 ||
           (text.len >= phrase.len && memmem(text.data, text.len, phrase.data, phrase.len) != NULL);
}

static status ask_phrases(struct looking *looking, bytes text)
{
    const struct search *search = looking->search;
    bytes folded;

    if (search->phrases->count + search->negated_phrases->count == 0)
        return STATUS_OK;
    TRY(search_fold_text(looking->scratch, search->fold, text, &folded));
    for (size_t i = 0; i < search->phrases->count; i++)
        looking->has_phrase[i] |= has_phrase(folded, search->phrases->items[i]);
    for (size_t i = 0; i < search->negated_phrases->count; i++)
        looking->has_negated |= has_phrase(folded, search->negated_phrases->items[i]);
    return STATUS_OK;
}

static status read_text(void *context, const struct search_text *text)
{
    struct looking *looking = context;
    struct search_words words = { .language = text->language };

    words.stemmer = stemmer_open(text->language);
    add_score(looking, &words, text);
    if (is_sensitive(looking->search))
        ask_exactly(looking, &words, text->text);
    stemmer_close(words.stemmer);
    return ask_phrases(looking, text->text);
}

status search_document(const struct search *search, struct arena *scratch, bytes document,
                       bool *fits_out, double *score_out)
{
    struct looking looking = { .search = search, .scratch = scratch };

    *fits_out = false;
    *score_out = 0;
    TRY(ARENA_NEW(scratch, search->phrases->count, &looking.has_phrase));
    TRY(ARENA_NEW(scratch, search->terms->count, &looking.counts));
    memset(looking.has_phrase, 0, search->phrases->count * sizeof(*looking.has_phrase));
    TRY(search_each_text(scratch, search->settings, document, read_text, &looking));
    *score_out = looking.score;
    *fits_out = looking.score > 0 && !looking.has_negated &&
                (looking.has_exact || !is_sensitive(search));
    for (size_t i = 0; i < search->phrases->count; i++)
        *fits_out = *fits_out && looking.has_phrase[i];
    return STATUS_OK;
}

/* ---- the index --------------------------------------------------------------------------------------- */

struct indexing {
    struct arena *arena;
    struct set seen;
    struct index_values *out;
};

static status index_text(void *context, const struct search_text *text)
{
    struct indexing *indexing = context;
    struct search_words words = { .language = text->language };
    status s = STATUS_OK;
    size_t number;
    bytes stem, key;
    bool is_new;

    words.stemmer = stemmer_open(text->language);
    search_words_begin(&words, indexing->arena, text->text);
    while (s.code == OK && search_words_next(&words, &stem)) {
        s = encode_term(indexing->arena, stem, &key);
        if (s.code == OK)
            s = set_add(&indexing->seen, key, &number, &is_new);
        if (s.code == OK && is_new)
            s = index_values_add(indexing->arena, indexing->out, key);
    }
    stemmer_close(words.stemmer);
    return s;
}

status search_index_values(struct arena *arena, const struct index_field *field, bytes document,
                           struct index_values *out)
{
    struct indexing indexing = { .arena = arena, .seen = set_in(arena), .out = out };

    return search_each_text(arena, field->settings, document, index_text, &indexing);
}

/* ---- telling ----------------------------------------------------------------------------------------- */

static status tell_list(struct arena *arena, struct buffer *out, const char *name,
                        const struct term_list *list)
{
    size_t begun = document_begin_inner(out, VALUE_ARRAY, bytes_of_text(name));

    for (size_t i = 0; i < list->count; i++) {
        const char *number = arena_format(arena, "%zu", i);
        if (!number)
            return arena_exhausted(arena);
        document_append_text(out, number, list->items[i]);
    }
    document_end(out, begun);
    return STATUS_OK;
}

status search_tell(const struct search *search, struct arena *arena, bytes *out)
{
    struct buffer told = buffer_in(arena);
    size_t begun = document_begin(&told);

    TRY(tell_list(arena, &told, "terms", search->terms));
    TRY(tell_list(arena, &told, "negatedTerms", search->negated));
    TRY(tell_list(arena, &told, "phrases", search->phrases));
    TRY(tell_list(arena, &told, "negatedPhrases", search->negated_phrases));
    document_end(&told, begun);
    return buffer_finish(&told, out);
}
