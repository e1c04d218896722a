/* JSON number: reading and writing numbers of JSON texts exactly.
 *
 * Whole numbers stay integers while they fit int64. Doubles are correctly rounded: up to 15 digits with
 * a small exponent by one exact multiplication or division, everything else by strtod(). Written
 * doubles are the shortest digits that read back. Both need the C locale, which the server never
 * leaves.
 *
 * Pure apart from the arena; callable from every thread. */
#include "value/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXACT_POWER_MAX = 22,     /* 10^22 is the last power of ten that is a double */
    EXPONENT_BOUND = 1000000, /* beyond every double, before every overflow */
    COPY_BYTES = 64,
    SHOWN_BYTES = 40,
};

static const double powers_of_ten[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* What the grammar says, before it is made a number. */
struct scan {
    bytes text;
    size_t at;
    bool is_negative;
    bool is_whole;       /* no fraction, no exponent */
    bool is_too_long;    /* digits do not fit the mantissa */
    uint64_t mantissa;   /* all digits, the point left out */
    int64_t point_shift; /* digits after the point, counted negative */
    int64_t exponent;
};

static status scan_number(struct arena *arena, struct scan *s);
static status convert_real(struct arena *arena, const struct scan *s, bytes token, double *out);

status json_number_read(struct arena *arena, bytes text, size_t *at, struct json_number *out)
{
    struct scan s = { .text = text, .at = *at, .is_whole = true };
    const uint64_t limit = INT64_MAX;

    *out = (struct json_number){ 0 };
    TRY(scan_number(arena, &s));
    bytes token = bytes_of(text.data + *at, s.at - *at);
    *at = s.at;
    bool is_minus_zero = s.is_negative && s.mantissa == 0;
    if (s.is_whole && !s.is_too_long && !is_minus_zero && s.mantissa <= limit + s.is_negative) {
        out->is_integer = true;
        out->integer = (int64_t)(s.is_negative ? -s.mantissa : s.mantissa);
        return STATUS_OK;
    }
    return convert_real(arena, &s, token, &out->real);
}

static uint8_t peek(const struct scan *s)
{
    return s->at < s->text.len ? s->text.data[s->at] : 0;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* One or more digits, added to the mantissa. */
static status scan_digits(struct arena *arena, struct scan *s, size_t *count_out)
{
    size_t start = s->at;

    *count_out = 0;
    if (!is_digit(peek(s)))
        return json_expected(arena, s->text, s->at, "a digit");
    for (; is_digit(peek(s)); s->at++) {
        uint64_t digit = (uint64_t)(peek(s) - '0');
        if (__builtin_mul_overflow(s->mantissa, 10, &s->mantissa) ||
            __builtin_add_overflow(s->mantissa, digit, &s->mantissa))
            s->is_too_long = true;
    }
    *count_out = s->at - start;
    return STATUS_OK;
}

/* exponent = ("e" / "E") ["+" / "-"] 1*digit */
static status scan_exponent(struct arena *arena, struct scan *s)
{
    bool is_negative = false;

    s->is_whole = false;
    s->at++;
    if (peek(s) == '+' || peek(s) == '-')
        is_negative = s->text.data[s->at++] == '-';
    if (!is_digit(peek(s)))
        return json_expected(arena, s->text, s->at, "a digit");
    for (; is_digit(peek(s)); s->at++) {
        if (s->exponent < EXPONENT_BOUND)
            s->exponent = s->exponent * 10 + (peek(s) - '0');
    }
    if (is_negative)
        s->exponent = -s->exponent;
    return STATUS_OK;
}

/* number = ["-"] ("0" / digit1-9 *digit) ["." 1*digit] [exponent] */
static status scan_number(struct arena *arena, struct scan *s)
{
    size_t count;

    if (peek(s) == '-') {
        s->is_negative = true;
        s->at++;
    }
    bool is_zero_first = peek(s) == '0';
    TRY(scan_digits(arena, s, &count));
    if (is_zero_first && count > 1)
        return json_expected(arena, s->text, s->at - count + 1, "no digit after a leading zero");
    if (peek(s) == '.') {
        s->is_whole = false;
        s->at++;
        TRY(scan_digits(arena, s, &count));
        s->point_shift = -(int64_t)count;
    }
    if (peek(s) == 'e' || peek(s) == 'E')
        TRY(scan_exponent(arena, s));
    return STATUS_OK;
}

/* strtod() needs a NUL behind the digits; only very long numbers need memory for that. */
static status convert_slowly(struct arena *arena, bytes token, double *out)
{
    char local[COPY_BYTES];
    char *copy = local;
    void *memory;

    if (token.len >= sizeof(local)) {
        TRY(arena_take(arena, token.len + 1, &memory));
        copy = memory;
    }
    memcpy(copy, token.data, token.len);
    copy[token.len] = 0;
    *out = strtod(copy, NULL);
    return STATUS_OK;
}

/* True if mantissa and power of ten are both exact doubles, so that one operation rounds once. */
static bool convert_fast(const struct scan *s, double *out)
{
    int64_t exponent = s->exponent + s->point_shift;

    if (s->is_too_long || s->mantissa > UINT64_C(1) << 53)
        return false;
    if (exponent < -EXACT_POWER_MAX || exponent > EXACT_POWER_MAX)
        return false;
    double real = (double)s->mantissa;
    real = exponent < 0 ? real / powers_of_ten[-exponent] : real * powers_of_ten[exponent];
    *out = s->is_negative ? -real : real;
    return true;
}

static status convert_real(struct arena *arena, const struct scan *s, bytes token, double *out)
{
    if (convert_fast(s, out))
        return STATUS_OK;
    arena_position mark = arena_mark(arena);
    TRY(convert_slowly(arena, token, out));
    arena_release(arena, mark);
    if (!isinf(*out))
        return STATUS_OK;
    bool is_cut = token.len > SHOWN_BYTES;
    return status_fail(arena, INVALID, "JSON offset %zu: number %.*s%s is too large for a double",
                       s->at - token.len, is_cut ? SHOWN_BYTES : (int)token.len,
                       (const char *)token.data, is_cut ? "..." : "");
}

void json_integer_write(struct buffer *out, int64_t integer)
{
    if (integer < 0)
        buffer_append_byte(out, '-');
    buffer_append_decimal(out, integer < 0 ? -(uint64_t)integer : (uint64_t)integer, 1);
}

/* Whole doubles that JSON readers everywhere keep as they are. */
static bool write_whole(struct buffer *out, double real)
{
    if (fabs(real) >= 1e15 || real != trunc(real) || (real == 0 && signbit(real)))
        return false;
    json_integer_write(out, (int64_t)real);
    return true;
}

/* A few digits after the point, as prices and measurements have: n / 10^k rounds once, so if it gives
 * the number back, n with a point is a way to write it, and up to 15 digits there is no other. */
static bool write_short_fraction(struct buffer *out, double real)
{
    double size = fabs(real);

    if (size < 1e-3 || size >= 1e9)
        return false;
    for (int places = 1; places <= 6; places++) {
        double digits = rint(size * powers_of_ten[places]);
        if (digits / powers_of_ten[places] != size)
            continue;
        uint64_t whole = (uint64_t)digits / (uint64_t)powers_of_ten[places];
        uint64_t fraction = (uint64_t)digits % (uint64_t)powers_of_ten[places];
        buffer_append_text(out, real < 0 ? "-" : "");
        buffer_append_decimal(out, whole, 1);
        buffer_append_byte(out, '.');
        buffer_append_decimal(out, fraction, (size_t)places);
        return true;
    }
    return false;
}

void json_number_write(struct buffer *out, double real)
{
    char text[32];

    ASSERT(isfinite(real));
    if (write_whole(out, real) || write_short_fraction(out, real))
        return;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*g", precision, real);
        if (strtod(text, NULL) == real)
            break;
    }
    buffer_append_text(out, text);
}
