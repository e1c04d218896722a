/* Collation: texts by the rules of a language.
 *
 * The only file that knows ICU. A collation is an opened collator of ICU and the document that names all its
 * settings. What a document does not say is read back from the collator, because languages have their own habits:
 * Danish has capitals first, Canadian French compares accents from the end.
 *
 * What was asked for before is found by comparing settings; otherwise a collator is opened outside of the lock, and if
 * somebody else has opened the same meanwhile, or the same was asked for in other words, the first one stays. Entries
 * are never removed, so there is a limit of them.
 *
 * Stored: version of the rules(4), document.
 *
 * Keeps: one pointer for each order of texts. Threads: a table from every thread; ICU allows it for collators
 * whose settings do not change any more. */
#include "value/collation.h"

#include <pthread.h>
#include <unicode/ucol.h>
#include <unicode/uenum.h>
#include <unicode/ustring.h>

#include "value/value.h"

/* What a short text needs is taken from the stack. */
enum { SHORT_UNITS = 512, SHORT_KEY = 1024 };
enum { LOCALE_ROOM = 64, STORED_VERSION = U_MAX_VERSION_LENGTH };
enum { UNSAID = -1 };

const struct collation_setting collation_settings[COLLATION_SETTINGS] = {
    {.name = "locale"                       },
    { .name = "caseLevel",                    .is_flag = true },
    { .name = "caseFirst",                                      .choices = { "off", "upper", "lower" } },
    { .name = "strength",.is_number = true },
    { .name = "numericOrdering",                     .is_flag = true },
    { .name = "alternate",                                      .choices = { "non-ignorable", "shifted" } },
    { .name = "maxVariable",    .choices = { "punct", "space" } },
    { .name = "normalization",                    .is_flag = true },
    { .name = "backwards",                                      .is_flag = true },
    { .name = "version"    },
};

enum { LOCALE, CASE_LEVEL, CASE_FIRST, STRENGTH, NUMERIC, ALTERNATE, VARIABLE, NORMAL, BACKWARDS };

/* How ICU calls a setting, and its values, by the number that is asked for. */
static const struct {
    UColAttribute attribute;
    int values[6];
} attributes[COLLATION_SETTINGS] = {
    [CASE_LEVEL] = {UCOL_CASE_LEVEL,          { UCOL_OFF, UCOL_ON }                           },
    [CASE_FIRST] = { UCOL_CASE_FIRST,         { UCOL_OFF, UCOL_UPPER_FIRST, UCOL_LOWER_FIRST }},
    [STRENGTH] = { UCOL_STRENGTH,
                    { UCOL_DEFAULT, UCOL_PRIMARY, UCOL_SECONDARY, UCOL_TERTIARY, UCOL_QUATERNARY,
                     UCOL_IDENTICAL }                                                         },
    [NUMERIC] = { UCOL_NUMERIC_COLLATION,  { UCOL_OFF, UCOL_ON }                           },
    [ALTERNATE] = { UCOL_ALTERNATE_HANDLING, { UCOL_NON_IGNORABLE, UCOL_SHIFTED }            },
    [VARIABLE] = { UCOL_ATTRIBUTE_COUNT,
                    { UCOL_REORDER_CODE_PUNCTUATION, UCOL_REORDER_CODE_SPACE }                },
    [NORMAL] = { UCOL_NORMALIZATION_MODE, { UCOL_OFF, UCOL_ON }                           },
    [BACKWARDS] = { UCOL_FRENCH_COLLATION,   { UCOL_OFF, UCOL_ON }                           },
};

/* A wish, or what has become of it. */
struct wish {
    char locale[LOCALE_ROOM];
    int settings[COLLATION_SETTINGS]; /* UNSAID; a flag, a number, or the number of a choice */
};

struct collation {
    UCollator *collator;
    struct wish whole;
    uint8_t version[STORED_VERSION];
    bytes stored;
    struct arena *memory;
};

/* What was asked for; several may have the same collation, which belongs to the first. */
struct entry {
    struct entry *next;
    struct wish wish;
    struct collation *collation;
    bool is_owner;
};

struct collations {
    pthread_mutex_t lock; /* leaf */
    struct entry *first;
    size_t count;
};

static status open_wish(struct arena *arena, const struct wish *wish, struct collation **out);

/* ---- the table -------------------------------------------------------------------------------------- */

status collations_open(struct collations **out)
{
    *out = memory_take_zeroed(1, sizeof(**out));
    if (!*out)
        return status_of(OUT_OF_MEMORY, "no memory for the orders of texts");
    pthread_mutex_init(&(*out)->lock, NULL);
    return STATUS_OK;
}

static void collation_close(struct collation *collation)
{
    if (!collation)
        return;
    if (collation->collator)
        ucol_close(collation->collator);
    arena_close(collation->memory);
    memory_give(collation);
}

void collations_close(struct collations *table)
{
    struct entry *next;

    if (!table)
        return;
    for (struct entry *entry = table->first; entry; entry = next) {
        next = entry->next;
        if (entry->is_owner)
            collation_close(entry->collation);
        memory_give(entry);
    }
    pthread_mutex_destroy(&table->lock);
    memory_give(table);
}

static bool is_same(const struct wish *a, const struct wish *b)
{
    return strcmp(a->locale, b->locale) == 0 &&
           memcmp(a->settings, b->settings, sizeof(a->settings)) == 0;
}

static struct collation *find_wish(struct collations *table, const struct wish *wish)
{
    struct collation *found = NULL;

    pthread_mutex_lock(&table->lock);
    for (const struct entry *entry = table->first; entry && !found; entry = entry->next) {
        if (is_same(&entry->wish, wish))
            found = entry->collation;
    }
    pthread_mutex_unlock(&table->lock);
    return found;
}

/* Takes the collation, or closes it if there is one already, which is the answer then. A full table takes no more ways to
 * say one, but knows those it has; NULL if it has none such. */
static const struct collation *add_entry(struct collations *table, struct entry *entry,
                                         struct collation *opened)
{
    struct collation *same = NULL;

    pthread_mutex_lock(&table->lock);
    for (const struct entry *other = table->first; other && !same; other = other->next) {
        if (is_same(&other->collation->whole, &opened->whole))
            same = other->collation;
    }
    bool has_room = table->count < LIMIT_COLLATIONS;
    if (has_room) {
        entry->collation = same ? same : opened;
        entry->is_owner = !same;
        entry->next = table->first;
        table->first = entry;
        table->count++;
    }
    pthread_mutex_unlock(&table->lock);
    if (!has_room)
        memory_give(entry);
    if (same || !has_room)
        collation_close(opened);
    return same || !has_room ? same : opened;
}

static status find_or_open(struct collations *table, struct arena *arena, const struct wish *wish,
                           const struct collation **out)
{
    struct collation *opened;
    struct entry *entry;

    *out = find_wish(table, wish);
    if (*out)
        return STATUS_OK;
    TRY(open_wish(arena, wish, &opened));
    entry = memory_take_zeroed(1, sizeof(*entry));
    if (!entry) {
        collation_close(opened);
        return status_of(OUT_OF_MEMORY, "no memory for another order of texts");
    }
    entry->wish = *wish;
    *out = add_entry(table, entry, opened);
    if (!*out)
        return status_fail(arena, TOO_LARGE,
                           "the server has compared texts in %d different ways since it was "
                           "started, the limit; use fewer collations",
                           LIMIT_COLLATIONS);
    return STATUS_OK;
}

/* ---- from and to documents -------------------------------------------------------------------------- */

static int number_of_choice(const struct collation_setting *setting, struct value value)
{
    int64_t number;

    if (setting->is_flag)
        return value.type == VALUE_BOOL ? value.raw.data[0] != 0 : UNSAID;
    if (setting->is_number)
        return value_as_int64(value, &number) && number >= 1 && number <= 5 ? (int)number : UNSAID;
    for (int i = 0; setting->choices[i]; i++) {
        if (value.type == VALUE_STRING &&
            bytes_equal(value_text(value), bytes_of_text(setting->choices[i])))
            return i;
    }
    return UNSAID;
}

static status read_document(bytes document, struct wish *out)
{
    struct value value;

    *out = (struct wish){ 0 };
    document_find(document, collation_settings[LOCALE].name, &value);
    bytes locale = value.type == VALUE_STRING ? value_text(value) : BYTES_NONE;
    if (locale.len == 0 || locale.len >= LOCALE_ROOM || memchr(locale.data, 0, locale.len))
        return status_of(INVALID, "Field 'locale' is invalid: it is empty, or too long to be one");
    memcpy(out->locale, locale.data, locale.len);
    for (int i = LOCALE + 1; i < COLLATION_SETTINGS; i++) {
        const struct collation_setting *setting = &collation_settings[i];
        out->settings[i] = document_find(document, setting->name, &value)
                               ? number_of_choice(setting, value)
                               : UNSAID;
    }
    return STATUS_OK;
}

static status write_stored(struct collation *collation)
{
    struct buffer out = buffer_in(collation->memory);

    buffer_append(&out, bytes_of(collation->version, sizeof(collation->version)));
    size_t begun = document_begin(&out);
    document_append_text(&out, collation_settings[LOCALE].name,
                         bytes_of_text(collation->whole.locale));
    for (int i = LOCALE + 1; i <= BACKWARDS; i++) {
        const struct collation_setting *setting = &collation_settings[i];
        int number = collation->whole.settings[i];
        if (setting->is_flag)
            document_append_bool(&out, setting->name, number != 0);
        else if (setting->is_number)
            document_append_int64(&out, setting->name, number);
        else
            document_append_text(&out, setting->name, bytes_of_text(setting->choices[number]));
    }
    document_append_text(&out, collation_settings[BACKWARDS + 1].name,
                         BYTES_LITERAL(COLLATION_VERSION));
    document_end(&out, begun);
    return buffer_finish(&out, &collation->stored);
}

status collations_find(struct collations *table, struct arena *arena, bytes document,
                       const struct collation **out)
{
    struct wish wish;

    *out = NULL;
    TRY(read_document(document, &wish));
    return find_or_open(table, arena, &wish, out);
}

status collations_find_stored(struct collations *table, struct arena *arena, bytes stored,
                              const struct collation **out)
{
    *out = NULL;
    if (stored.len == 0)
        return STATUS_OK;
    if (stored.len <= STORED_VERSION)
        return status_of(CORRUPT, "a stored order of texts is damaged");
    TRY(document_check(arena, bytes_from(stored, STORED_VERSION)));
    TRY(collations_find(table, arena, bytes_from(stored, STORED_VERSION), out));
    if (bytes_equal(stored, (*out)->stored))
        return STATUS_OK;
    if (memcmp(stored.data, (*out)->version, STORED_VERSION) == 0)
        return status_of(CORRUPT, "a stored order of texts is damaged");
    return status_fail(arena, CORRUPT,
                       "keys in the order of the locale '%s' were made by version %d.%d.%d.%d of "
                       "its rules, and the "
                       "ICU library of this machine has version %d.%d.%d.%d; use the library that "
                       "they were made with",
                       (*out)->whole.locale, stored.data[0], stored.data[1], stored.data[2],
                       stored.data[3], (*out)->version[0], (*out)->version[1], (*out)->version[2],
                       (*out)->version[3]);
}

bytes collation_document(const struct collation *collation)
{
    return bytes_from(collation->stored, STORED_VERSION);
}

bytes collation_stored(const struct collation *collation)
{
    return collation->stored;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* Is what follows @collation= one of the ways in which the language before it is ordered? */
static bool is_known_variant(const char *locale)
{
    static const char keyword[] = "@collation=";
    const char *at = strstr(locale, keyword);
    UErrorCode code = U_ZERO_ERROR;
    char language[LOCALE_ROOM] = { 0 };
    const char *variant;
    bool is_known = false;

    if (!at)
        return false;
    memcpy(language, locale, (size_t)(at - locale));
    UEnumeration *all = ucol_getKeywordValuesForLocale("collation", language, false, &code);
    UCollator *plain = ucol_open(language, &code);
    if (U_SUCCESS(code) &&
        strcmp(ucol_getLocaleByType(plain, ULOC_VALID_LOCALE, &code), language) == 0) {
        while (!is_known && (variant = uenum_next(all, NULL, &code)) != NULL)
            is_known = strcmp(variant, at + sizeof(keyword) - 1) == 0;
    }
    uenum_close(all);
    if (plain)
        ucol_close(plain);
    return is_known;
}

/* A locale has to be written as ICU does: what it would have to replace by something else is refused. */
static status check_locale(struct arena *arena, const UCollator *collator, const char *locale)
{
    UErrorCode code = U_ZERO_ERROR;
    const char *valid = ucol_getLocaleByType(collator, ULOC_VALID_LOCALE, &code);

    if (U_FAILURE(code) || !valid)
        valid = "";
    if (strcmp(valid, locale) == 0 || is_known_variant(locale))
        return STATUS_OK;
    if (*valid && strcmp(valid, "root") != 0)
        return status_fail(arena, INVALID, "Field 'locale' is invalid (did you mean '%s'?)", valid);
    return status_of(INVALID, "Field 'locale' is invalid");
}

static void apply(UCollator *collator, const struct wish *wish, UErrorCode *code)
{
    for (int i = LOCALE + 1; i <= BACKWARDS; i++) {
        if (wish->settings[i] == UNSAID)
            continue;
        int value = attributes[i].values[wish->settings[i]];
        if (i == VARIABLE)
            ucol_setMaxVariable(collator, (UColReorderCode)value, code);
        else
            ucol_setAttribute(collator, attributes[i].attribute, (UColAttributeValue)value, code);
    }
}

/* What the collator really does. */
static void read_back(const UCollator *collator, struct wish *out, UErrorCode *code)
{
    for (int i = LOCALE + 1; i <= BACKWARDS; i++) {
        int value = i == VARIABLE ? (int)ucol_getMaxVariable(collator)
                                  : (int)ucol_getAttribute(collator, attributes[i].attribute, code);
        int number = 0;
        for (int j = 0; j < (int)ARRAY_COUNT(attributes[i].values); j++) {
            if (attributes[i].values[j] == value && number == 0)
                number = j;
        }
        out->settings[i] = number;
    }
    out->settings[BACKWARDS + 1] = 0;
}

static status check_settings(const struct wish *whole)
{
    int strength = whole->settings[STRENGTH];

    if (whole->settings[BACKWARDS] && strength == 1)
        return status_of(INVALID, "'backwards' is invalid with 'strength' of 1");
    if (whole->settings[CASE_FIRST] && !whole->settings[CASE_LEVEL] && strength <= 2)
        return status_of(INVALID,
                         "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater "
                         "than 2");
    return STATUS_OK;
}

static status prepare(struct arena *arena, const struct wish *wish, struct collation *collation)
{
    UErrorCode code = U_ZERO_ERROR;

    collation->collator = ucol_open(wish->locale, &code);
    if (U_FAILURE(code))
        return status_fail(arena, INVALID, "Field 'locale' is invalid: %s", u_errorName(code));
    TRY(check_locale(arena, collation->collator, wish->locale));
    apply(collation->collator, wish, &code);
    memcpy(collation->whole.locale, wish->locale, sizeof(wish->locale));
    read_back(collation->collator, &collation->whole, &code);
    if (U_FAILURE(code))
        return status_fail(arena, INVALID, "the locale '%s' cannot be set up so (%s)", wish->locale,
                           u_errorName(code));
    TRY(check_settings(&collation->whole));
    ucol_getVersion(collation->collator, collation->version);
    return write_stored(collation);
}

static status open_wish(struct arena *arena, const struct wish *wish, struct collation **out)
{
    struct collation *collation = memory_take_zeroed(1, sizeof(*collation));

    *out = NULL;
    if (collation)
        collation->memory = arena_open(LIMIT_CATALOG_ENTRY_BYTES);
    if (!collation || !collation->memory) {
        collation_close(collation);
        return status_of(OUT_OF_MEMORY, "no memory for another order of texts");
    }
    status s = prepare(arena, wish, collation);
    if (s.code != OK)
        collation_close(collation);
    else
        *out = collation;
    return s;
}

/* ---- using ------------------------------------------------------------------------------------------ */

int collation_compare(const struct collation *collation, bytes a, bytes b)
{
    UErrorCode code = U_ZERO_ERROR;
    UCollationResult order = ucol_strcollUTF8(collation->collator, (const char *)a.data,
                                              (int32_t)a.len, (const char *)b.data, (int32_t)b.len,
                                              &code);

    ASSERT(U_SUCCESS(code));
    return (int)order;
}

/* The key of UTF-16 text; the NUL that ICU ends it with is left out. */
static void append_key_of_units(const struct collation *collation, struct buffer *out,
                                const UChar *units, int32_t count)
{
    uint8_t room[SHORT_KEY];
    int32_t len = ucol_getSortKey(collation->collator, units, count, room, sizeof(room));

    ASSERT(len > 0);
    if ((size_t)len <= sizeof(room)) {
        buffer_append(out, bytes_of(room, (size_t)len - 1));
        return;
    }
    uint8_t *at = buffer_reserve(out, (size_t)len);
    if (!at)
        return;
    ucol_getSortKey(collation->collator, units, count, at, len);
    out->len += (size_t)len - 1;
}

void collation_append_key(const struct collation *collation, struct buffer *out, bytes text)
{
    UErrorCode code = U_ZERO_ERROR;
    UChar room[SHORT_UNITS];
    bool is_short = text.len <= SHORT_UNITS;
    UChar *units = is_short ? room : memory_take(text.len * sizeof(*units));
    int32_t count = 0;

    if (!units) {
        out->is_failed = true;
        return;
    }
    u_strFromUTF8WithSub(units, (int32_t)text.len, &count, (const char *)text.data,
                         (int32_t)text.len, 0xFFFD, NULL, &code);
    ASSERT(U_SUCCESS(code));
    append_key_of_units(collation, out, units, count);
    if (!is_short)
        memory_give(units);
}
