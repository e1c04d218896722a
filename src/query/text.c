/* Text: characters and letter case.
 *
 * Letter case is one letter to one letter, for Latin, Greek, Cyrillic and Armenian, as a short table of
 * stretches: capitals lie a fixed distance before the small letters, or capital and small letter take
 * turns. Letters whose other case has several characters stay as they are.
 *
 * Pure; callable from every thread. */
#include "query/text.h"

uint32_t text_next(bytes *text)
{
    const uint8_t *at = text->data;
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    static const uint8_t masks[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t character = at[0] & masks[len];

    if (len > text->len)
        len = text->len;
    for (size_t i = 1; i < len; i++)
        character = character << 6 | (at[i] & 0x3F);
    *text = bytes_from(*text, len);
    return character;
}

void text_append(struct buffer *out, uint32_t character)
{
    if (character < 0x80) {
        buffer_append_byte(out, (uint8_t)character);
        return;
    }
    if (character < 0x800) {
        buffer_append_byte(out, (uint8_t)(0xC0 | character >> 6));
    } else {
        if (character < 0x10000) {
            buffer_append_byte(out, (uint8_t)(0xE0 | character >> 12));
        } else {
            buffer_append_byte(out, (uint8_t)(0xF0 | character >> 18));
            buffer_append_byte(out, (uint8_t)(0x80 | (character >> 12 & 0x3F)));
        }
        buffer_append_byte(out, (uint8_t)(0x80 | (character >> 6 & 0x3F)));
    }
    buffer_append_byte(out, (uint8_t)(0x80 | (character & 0x3F)));
}

size_t text_units(bytes text)
{
    size_t units = 0;

    /* Every first byte is one unit; those of characters past U+FFFF are two. */
    for (size_t i = 0; i < text.len; i++)
        units += (text.data[i] & 0xC0) != 0x80 ? (text.data[i] >= 0xF0 ? 2 : 1) : 0;
    return units;
}

/* Moves behind all characters that lie whole within the next `units`; says how many units those are. */
static uint64_t skip_units(bytes *text, uint64_t units)
{
    uint64_t taken = 0;

    while (text->len) {
        bytes next = *text;
        unsigned wide = text_next(&next) > 0xFFFF ? 2 : 1;
        if (wide > units - taken)
            break;
        taken += wide;
        *text = next;
    }
    return taken;
}

bytes text_slice(bytes text, uint64_t start, uint64_t units)
{
    uint64_t skipped = skip_units(&text, start);

    /* The start lies within a character: its second unit is one of those asked for. */
    if (skipped < start && text.len) {
        text_next(&text);
        units -= units > 0;
    }
    bytes rest = text;
    skip_units(&rest, units);
    return bytes_of(text.data, text.len - rest.len);
}

bool text_is_space(uint32_t character)
{
    return (character >= 0x09 && character <= 0x0D) || character == 0x20 || character == 0x85 ||
           character == 0xA0 || character == 0x1680 ||
           (character >= 0x2000 && character <= 0x200A) || character == 0x2028 ||
           character == 0x2029 || character == 0x202F || character == 0x205F || character == 0x3000;
}

status text_fold(struct arena *arena, bytes text, bytes *out)
{
    struct buffer built = buffer_in(arena);

    while (text.len)
        text_append(&built, text_lower(text_next(&text)));
    return buffer_finish(&built, out);
}

/* Capitals first..last; the small letter is `distance` further, or, where it is 0, right behind each. */
static const struct letters {
    uint32_t first, last, distance;
} letters[] = {
    {'A',     'Z',    32},
    { 0xC0,   0xD6,   32},
    { 0xD8,   0xDE,   32},
    { 0x100,  0x12E,  0 },
    { 0x132,  0x136,  0 },
    { 0x139,  0x147,  0 },
    { 0x14A,  0x176,  0 },
    { 0x179,  0x17D,  0 },
    { 0x386,  0x386,  38},
    { 0x388,  0x38A,  37},
    { 0x38C,  0x38C,  64},
    { 0x38E,  0x38F,  63},
    { 0x391,  0x3A1,  32},
    { 0x3A3,  0x3AB,  32},
    { 0x400,  0x40F,  80},
    { 0x410,  0x42F,  32},
    { 0x460,  0x480,  0 },
    { 0x48A,  0x4BE,  0 },
    { 0x4D0,  0x52E,  0 },
    { 0x531,  0x556,  48},
    { 0x1E00, 0x1E94, 0 },
    { 0x1EA0, 0x1EFE, 0 },
};

uint32_t text_lower(uint32_t character)
{
    for (size_t i = 0; i < ARRAY_COUNT(letters); i++) {
        const struct letters *l = &letters[i];
        if (character < l->first)
            return character;
        if (character <= l->last + 1 && l->distance == 0)
            return character + ((character - l->first) % 2 == 0);
        if (character <= l->last)
            return character + l->distance;
    }
    return character;
}

uint32_t text_upper(uint32_t character)
{
    for (size_t i = 0; i < ARRAY_COUNT(letters); i++) {
        const struct letters *l = &letters[i];
        if (l->distance == 0 && character >= l->first && character <= l->last + 1)
            return character - ((character - l->first) % 2 == 1);
        if (l->distance != 0 && character >= l->first + l->distance &&
            character <= l->last + l->distance)
            return character - l->distance;
    }
    return character;
}

/* ---- accents ----------------------------------------------------------------------------------------- */

/* The letters without accents, one for each character from `first` on; a question mark is one that has none. */
static const struct accented {
    uint32_t first;
    const char *letters;
} accented[] = {
    {0xC0,    "AAAAAA?CEEEEIIII?NOOOOO?OUUUUY??aaaaaa?ceeeeiiii?nooooo?ouuuuy?y"
            "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiI???JjKk?LlLlLlLlLlNnNnNn???OoOoOo??"
            "RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz?"},
    { 0x1E00, "AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMmMmMmNnNnNnNnOoOoOoOo"
              "PpPpRrRrRrRrSsSsSsSsSsTtTtTtTtUuUuUuUuUuVvVvWwWwWwWwWwXxXxYyZzZzZzhtwy??????"
              "AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEeEeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYy"
              "YyYyYy"                                 },
};

/* Pairs: with and without. */
static const uint32_t others[][2] = {
    {0x386,  0x391},
    { 0x388, 0x395},
    { 0x389, 0x397},
    { 0x38A, 0x399},
    { 0x38C, 0x39F},
    { 0x38E, 0x3A5},
    { 0x38F, 0x3A9},
    { 0x3AC, 0x3B1},
    { 0x3AD, 0x3B5},
    { 0x3AE, 0x3B7},
    { 0x3AF, 0x3B9},
    { 0x3CC, 0x3BF},
    { 0x3CD, 0x3C5},
    { 0x3CE, 0x3C9},
    { 0x401, 0x415},
    { 0x419, 0x418},
    { 0x439, 0x438},
    { 0x451, 0x435},
};

uint32_t text_without_accent(uint32_t character)
{
    for (size_t i = 0; i < ARRAY_COUNT(accented); i++) {
        const struct accented *row = &accented[i];
        if (character < row->first || character - row->first >= strlen(row->letters))
            continue;
        char letter = row->letters[character - row->first];
        return letter == '?' ? character : (uint32_t)(uint8_t)letter;
    }
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        if (others[i][0] == character)
            return others[i][1];
    }
    return character;
}

bool text_is_combining(uint32_t character)
{
    return character >= 0x300 && character <= 0x36F;
}
