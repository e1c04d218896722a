/* Samples: values for the tests of this room.
 *
 * Nothing is checked here; documents made from these values are good by construction. */
#include "tests/unit/value/samples.h"

#include <float.h>
#include <math.h>

#include "tests/check.h"
#include "value/libbson.h"
#include "value/raw.h"

static bytes finish(struct buffer *out)
{
    bytes done;

    CHECK_OK(buffer_finish(out, &done));
    return done;
}

struct value sample_raw(struct arena *arena, enum value_type type, bytes raw)
{
    struct value value = { .type = type };

    CHECK_OK(arena_copy(arena, raw, &value.raw));
    return value;
}

struct value sample_word(struct arena *arena, enum value_type type, uint64_t word)
{
    uint8_t raw[8];

    raw_put_u64(raw, word);
    return sample_raw(arena, type, bytes_of(raw, sizeof(raw)));
}

struct value sample_double(struct arena *arena, double real)
{
    uint64_t image;

    memcpy(&image, &real, sizeof(image));
    return sample_word(arena, VALUE_DOUBLE, image);
}

struct value sample_int32(struct arena *arena, int32_t integer)
{
    uint8_t raw[4];

    raw_put_u32(raw, (uint32_t)integer);
    return sample_raw(arena, VALUE_INT32, bytes_of(raw, sizeof(raw)));
}

struct value sample_int64(struct arena *arena, int64_t integer)
{
    return sample_word(arena, VALUE_INT64, (uint64_t)integer);
}

struct value sample_decimal(struct arena *arena, const char *text)
{
    bson_decimal128_t decimal;
    uint8_t raw[16];

    CHECK_THAT(bson_decimal128_from_string(text, &decimal), "%s is no decimal128", text);
    raw_put_u64(raw, decimal.low);
    raw_put_u64(raw + 8, decimal.high);
    return sample_raw(arena, VALUE_DECIMAL128, bytes_of(raw, sizeof(raw)));
}

struct value sample_bool(struct arena *arena, bool is_true)
{
    uint8_t raw = is_true;

    return sample_raw(arena, VALUE_BOOL, bytes_of(&raw, 1));
}

static void put_u32(struct buffer *out, size_t number)
{
    uint8_t raw[4];

    raw_put_u32(raw, (uint32_t)number);
    buffer_append(out, bytes_of(raw, sizeof(raw)));
}

static void put_text(struct buffer *out, bytes text)
{
    put_u32(out, text.len + 1);
    buffer_append(out, text);
    buffer_append_byte(out, 0);
}

struct value sample_text(struct arena *arena, enum value_type type, bytes text)
{
    struct buffer out = buffer_in(arena);

    put_text(&out, text);
    return (struct value){ .type = type, .raw = finish(&out) };
}

struct value sample_binary(struct arena *arena, uint8_t subtype, bytes content)
{
    struct buffer out = buffer_in(arena);

    put_u32(&out, content.len);
    buffer_append_byte(&out, subtype);
    buffer_append(&out, content);
    return (struct value){ .type = VALUE_BINARY, .raw = finish(&out) };
}

struct value sample_regex(struct arena *arena, const char *pattern, const char *options)
{
    struct buffer out = buffer_in(arena);

    buffer_append(&out, bytes_of(pattern, strlen(pattern) + 1));
    buffer_append(&out, bytes_of(options, strlen(options) + 1));
    return (struct value){ .type = VALUE_REGEX, .raw = finish(&out) };
}

struct value sample_db_pointer(struct arena *arena, bytes collection, const uint8_t id[12])
{
    struct buffer out = buffer_in(arena);

    put_text(&out, collection);
    buffer_append(&out, bytes_of(id, 12));
    return (struct value){ .type = VALUE_DB_POINTER, .raw = finish(&out) };
}

struct value sample_scoped_code(struct arena *arena, bytes code, bytes scope)
{
    struct buffer out = buffer_in(arena);

    put_u32(&out, 4 + 4 + code.len + 1 + scope.len);
    put_text(&out, code);
    buffer_append(&out, scope);
    return (struct value){ .type = VALUE_CODE_WITH_SCOPE, .raw = finish(&out) };
}

struct value sample_nothing(enum value_type type)
{
    return (struct value){ .type = type };
}

struct sample_writer sample_begin(struct arena *arena)
{
    struct sample_writer writer = { .out = buffer_in(arena) };

    put_u32(&writer.out, 0);
    return writer;
}

void sample_field(struct sample_writer *writer, bytes name, struct value value)
{
    buffer_append_byte(&writer->out, (uint8_t)value.type);
    buffer_append(&writer->out, name);
    buffer_append_byte(&writer->out, 0);
    buffer_append(&writer->out, value.raw);
}

bytes sample_end(struct sample_writer *writer)
{
    buffer_append_byte(&writer->out, 0);
    bytes done = finish(&writer->out);
    raw_put_u32(writer->out.data, (uint32_t)done.len);
    return done;
}

bytes sample_json(struct arena *arena, const char *text)
{
    bytes copy;
    bytes document;

    CHECK_OK(arena_copy(arena, bytes_of_text(text), &copy));
    for (size_t i = 0; i < copy.len; i++) {
        if (copy.data[i] == '\'')
            ((uint8_t *)(uintptr_t)copy.data)[i] = '"';
    }
    CHECK_OK(json_read(arena, copy, &document));
    return document;
}

struct value sample_json_value(struct arena *arena, const char *text)
{
    struct value value;

    document_find(sample_json(arena, arena_format(arena, "{\"v\":%s}", text)), "v", &value);
    return value;
}

double sample_random_double(struct random *random)
{
    uint64_t image = random_next(random);
    double real;

    memcpy(&real, &image, sizeof(real));
    return real;
}

static double random_double(struct random *random)
{
    static const double pool[] = {
        0.0,    -0.0,     1,       -1,        0.1,     0.5,     2.5,         0x1p53,
        0x1p62, 0x1p63,   -0x1p63, 0x1p64,    DBL_MAX, DBL_MIN, 0x1p-1074,   1e22,
        1e23,   INFINITY, NAN,     -INFINITY, 1e300,   1e-300,  123456789.0, 9007199254740993.0,
    };
    double real = pool[random_below(random, ARRAY_COUNT(pool))];
    unsigned steps = (unsigned)random_below(random, 3);

    if (random_chance(random, 10))
        return sample_random_double(random);
    if (random_chance(random, 30))
        real = -real;
    for (; steps > 0; steps--)
        real = nextafter(real, random_chance(random, 50) ? INFINITY : -INFINITY);
    return real;
}

static int64_t random_integer(struct random *random)
{
    static const int64_t pool[] = {
        0,         1,         127,       128,     INT32_MAX,        (int64_t)1 << 53,
        1LL << 54, 1LL << 62, INT64_MAX, 1000000, 1000000000000000, 100000000000000000,
    };
    int64_t integer = pool[random_below(random, ARRAY_COUNT(pool))];

    if (random_chance(random, 10))
        return (int64_t)random_next(random);
    integer = int64_add_saturating(integer, (int64_t)random_below(random, 5) - 2);
    return random_chance(random, 50) ? int64_sub_saturating(0, integer) : integer;
}

/* Coefficient and exponent at random, or text around a double or an integer. */
static struct value random_decimal(struct random *random, struct arena *arena)
{
    static const char *const pool[] = {
        "0",
        "-0",
        "0E-6176",
        "0E+6111",
        "1",
        "0.1",
        "0.10",
        "1E6000",
        "1E6144",
        "1E-6176",
        "1E-6000",
        "1E-324",
        "4.9E-324",
        "-1E-6000",
        "NaN",
        "Infinity",
        "-Infinity",
        "2.5",
        "-1E6000",
        "1.797693134862315708145274237317044E308",
        "1.797693134862315807E308",
        "9999999999999999999999999999999999E6111",
        "9999999999999999999999999999999999",
        "0.1000000000000000055511151231257827",
        "0.1000000000000000055511151231257828",
        "2.225073858507201383090232717332404E-308",
        "9007199254740992.5",
        "9223372036854775807.5",
    };

    double real = random_double(random);
    long long integer = random_integer(random);
    int small = (int)random_below(random, 34);
    if (!isfinite(real))
        real = 0.1;
    switch (random_below(random, 4)) {
    case 0:
        return sample_decimal(arena, pool[random_below(random, ARRAY_COUNT(pool))]);
    case 1:
        return sample_decimal(arena, arena_format(arena, "%lld", integer));
    case 2:
        return sample_decimal(arena, arena_format(arena, "%.*g", 1 + small, real));
    default:
        return sample_decimal(
            arena, arena_format(arena, "%lld%015dE%d", integer / 10, small % 3, small - 20));
    }
}

struct value sample_random_number(struct random *random, struct arena *arena)
{
    switch (random_below(random, 4)) {
    case 0:
        return sample_double(arena, random_double(random));
    case 1:
        return sample_int32(arena, (int32_t)random_integer(random));
    case 2:
        return sample_int64(arena, random_integer(random));
    default:
        return random_decimal(random, arena);
    }
}

/* Characters whose UTF-8 begins or ends with the bytes that keys escape, and some others. */
static bytes random_text(struct random *random, struct arena *arena)
{
    static const bytes pool[] = {
        BYTES_LITERAL("\0"),
        BYTES_LITERAL("\x01"),
        BYTES_LITERAL("\x02"),
        BYTES_LITERAL("\x03"),
        BYTES_LITERAL("a"),
        BYTES_LITERAL("b"),
        BYTES_LITERAL("\x7f"),
        BYTES_LITERAL("\xc2\x80"),
        BYTES_LITERAL("\xdf\xbf"),
        BYTES_LITERAL("\xef\xbf\xbf"),
        BYTES_LITERAL("\xf4\x8f\xbf\xbf"),
        BYTES_LITERAL("\""),
        BYTES_LITERAL("\\"),
        BYTES_LITERAL("\n"),
        BYTES_LITERAL("plain text"),
    };
    struct buffer out = buffer_in(arena);
    uint64_t count = random_below(random, 4);

    for (uint64_t i = 0; i < count; i++)
        buffer_append(&out, pool[random_below(random, ARRAY_COUNT(pool))]);
    return finish(&out);
}

static bytes random_content(struct random *random, struct arena *arena, size_t len)
{
    static const uint8_t pool[] = { 0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0xFC, 0xFD, 0xFE, 0xFF };
    struct buffer out = buffer_in(arena);

    for (size_t i = 0; i < len; i++)
        buffer_append_byte(&out, pool[random_below(random, ARRAY_COUNT(pool))]);
    return finish(&out);
}

static struct value random_binary(struct random *random, struct arena *arena)
{
    static const uint8_t subtypes[] = { 0, 1, 3, 4, 0x7F, 0x80, 0xFF };
    uint8_t subtype = subtypes[random_below(random, ARRAY_COUNT(subtypes))];

    return sample_binary(arena, subtype, random_content(random, arena, random_below(random, 5)));
}

static struct value random_regex(struct random *random, struct arena *arena)
{
    static const char *const patterns[] = { "", "a", "ab", "\x01", "\x02", "b" };
    static const char *const options[] = { "", "i", "im", "s", "x" };

    const char *pattern = patterns[random_below(random, ARRAY_COUNT(patterns))];

    return sample_regex(arena, pattern, options[random_below(random, ARRAY_COUNT(options))]);
}

bytes sample_random_document(struct random *random, struct arena *arena, unsigned depth)
{
    static const char *const names[] = { "", "a", "b", "ab", "a\x01", "a\x02", "\xc3\xa9" };
    struct sample_writer writer = sample_begin(arena);
    uint64_t count = random_below(random, 4);

    for (uint64_t i = 0; i < count; i++) {
        const char *name = names[random_below(random, ARRAY_COUNT(names))];
        sample_field(&writer, bytes_of_text(name), sample_random(random, arena, depth));
    }
    return sample_end(&writer);
}

static bytes random_array(struct random *random, struct arena *arena, unsigned depth)
{
    struct sample_writer writer = sample_begin(arena);
    uint64_t count = random_below(random, 4);

    for (uint64_t i = 0; i < count; i++) {
        const char name[2] = { (char)('0' + i), 0 };
        sample_field(&writer, bytes_of_text(name), sample_random(random, arena, depth));
    }
    return sample_end(&writer);
}

static struct value random_container(struct random *random, struct arena *arena, unsigned depth)
{
    bytes text;

    switch (random_below(random, 3)) {
    case 0:
        return (struct value){ VALUE_DOCUMENT, sample_random_document(random, arena, depth) };
    case 1:
        return (struct value){ VALUE_ARRAY, random_array(random, arena, depth) };
    default:
        text = random_text(random, arena);
        return sample_scoped_code(arena, text, sample_random_document(random, arena, depth));
    }
}

static struct value random_scalar(struct random *random, struct arena *arena)
{
    static const enum value_type nothings[] = { VALUE_UNDEFINED, VALUE_NULL, VALUE_MIN_KEY,
                                                VALUE_MAX_KEY };
    static const enum value_type texts[] = { VALUE_STRING, VALUE_SYMBOL, VALUE_CODE };
    bytes text;

    switch (random_below(random, 9)) {
    case 0:
        return sample_nothing(nothings[random_below(random, ARRAY_COUNT(nothings))]);
    case 1:
        return sample_bool(arena, random_chance(random, 50));
    case 2:
        return sample_word(arena, VALUE_DATE, (uint64_t)random_integer(random));
    case 3:
        return sample_word(arena, VALUE_TIMESTAMP, (uint64_t)random_integer(random));
    case 4:
        return sample_raw(arena, VALUE_OBJECT_ID, random_content(random, arena, 12));
    case 5:
        return random_binary(random, arena);
    case 6:
        return random_regex(random, arena);
    case 7:
        text = random_text(random, arena);
        return sample_db_pointer(arena, text, random_content(random, arena, 12).data);
    default:
        text = random_text(random, arena);
        return sample_text(arena, texts[random_below(random, ARRAY_COUNT(texts))], text);
    }
}

struct value sample_random(struct random *random, struct arena *arena, unsigned depth)
{
    if (depth > 0 && random_chance(random, 40))
        return random_container(random, arena, depth - 1);
    if (random_chance(random, 40))
        return sample_random_number(random, arena);
    return random_scalar(random, arena);
}

const char *sample_show(struct arena *arena, struct value value)
{
    struct buffer out = buffer_in(arena);

    buffer_append_format(&out, "0x%02x ", value.type);
    json_write_value(&out, value);
    buffer_append_byte(&out, 0);
    return (const char *)finish(&out).data;
}
