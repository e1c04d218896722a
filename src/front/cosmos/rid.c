/* Rid: packing of resource ids, and base64.
 *
 *   database    id (4, most significant byte first)
 *   container   database (4), id with the highest bit set (4)
 *   user        database (4), number with the highest bit clear (4)
 *   item        container (8), birth (8, least significant byte first; the last byte, which tells kinds of
 *               resources apart, is therefore 0)
 *   permission  user (8), birth (8, likewise)
 *   range       container (8), 0x02 0 0 0 0 0 0 0x50
 *
 * Pure; callable from every thread. */
#include "front/cosmos/rid.h"

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char base64_digits[] = LETTERS_AND_DIGITS "+/";
static const char rid_digits[] = LETTERS_AND_DIGITS "+-";

static void put_u32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (24 - 8 * i));
}

struct rid rid_of_database(uint32_t database_id)
{
    struct rid rid = { .len = RID_DATABASE_BYTES };

    put_u32(rid.raw, database_id);
    return rid;
}

static struct rid rid_below_database(uint32_t database_id, uint32_t number)
{
    struct rid rid = { .len = RID_CONTAINER_BYTES };

    put_u32(rid.raw, database_id);
    put_u32(rid.raw + 4, number);
    return rid;
}

struct rid rid_of_container(uint32_t database_id, uint32_t collection_id)
{
    return rid_below_database(database_id, collection_id | 0x80000000u);
}

struct rid rid_of_user(uint32_t database_id, uint32_t user_number)
{
    return rid_below_database(database_id, user_number & 0x7FFFFFFFu);
}

struct rid rid_of_item(struct rid container, uint64_t birth)
{
    container.len = RID_ITEM_BYTES;
    for (int i = 0; i < 8; i++)
        container.raw[8 + i] = (uint8_t)(birth >> (8 * i));
    return container;
}

struct rid rid_of_permission(struct rid user, uint64_t birth)
{
    return rid_of_item(user, birth);
}

struct rid rid_of_range(struct rid container)
{
    return rid_of_item(container, 0x5000000000000002u);
}

uint32_t rid_database(const struct rid *rid)
{
    return bytes_read_u32(rid->raw);
}

uint32_t rid_container(const struct rid *rid)
{
    return rid->len >= RID_CONTAINER_BYTES ? bytes_read_u32(rid->raw + 4) & 0x7FFFFFFFu : 0;
}

uint64_t rid_item(const struct rid *rid)
{
    uint64_t birth = 0;

    for (int i = 7; i >= 0 && rid->len == RID_ITEM_BYTES; i--)
        birth = birth << 8 | rid->raw[8 + i];
    return birth;
}

/* ---- base64 ----------------------------------------------------------------------------------------- */

static void encode_group(const char *alphabet, const uint8_t *raw, size_t len, char out[4])
{
    uint32_t group = (uint32_t)raw[0] << 16 | (len > 1 ? (uint32_t)raw[1] << 8 : 0) |
                     (len > 2 ? raw[2] : 0);

    out[0] = alphabet[group >> 18];
    out[1] = alphabet[group >> 12 & 63];
    out[2] = len > 1 ? alphabet[group >> 6 & 63] : '=';
    out[3] = len > 2 ? alphabet[group & 63] : '=';
}

void base64_append(struct buffer *out, bytes raw)
{
    char group[4];

    for (size_t i = 0; i < raw.len; i += 3) {
        encode_group(base64_digits, raw.data + i, raw.len - i < 3 ? raw.len - i : 3, group);
        buffer_append(out, bytes_of(group, sizeof(group)));
    }
}

static int digit_value(uint8_t digit)
{
    const char *at = digit ? strchr(base64_digits, digit) : NULL;

    return at ? (int)(at - base64_digits) : -1;
}

static bool decode_group(const uint8_t *text, size_t digits, uint8_t *out)
{
    uint32_t group = 0;

    for (size_t i = 0; i < 4; i++) {
        int value = i < digits ? digit_value(text[i]) : 0;
        if (value < 0)
            return false;
        group = group << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i + 1 < digits; i++)
        out[i] = (uint8_t)(group >> (16 - 8 * i));
    return (group & (digits == 2 ? 0xFFFFu : digits == 3 ? 0xFFu : 0u)) == 0;
}

bool base64_decode(bytes text, uint8_t *out, size_t *len_out)
{
    *len_out = 0;
    if (text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        size_t digits = 4;
        while (i + 4 == text.len && digits > 2 && text.data[i + digits - 1] == '=')
            digits--;
        if (!decode_group(text.data + i, digits, out + *len_out))
            return false;
        *len_out += digits - 1;
    }
    return true;
}

void rid_format(const struct rid *rid, char out[RID_TEXT_BYTES])
{
    size_t at = 0;

    for (size_t i = 0; i < rid->len; i += 3, at += 4)
        encode_group(rid_digits, rid->raw + i, rid->len - i < 3 ? rid->len - i : 3, out + at);
    out[at] = '\0';
}

bool rid_parse(bytes text, struct rid *out)
{
    uint8_t plain[RID_TEXT_BYTES], raw[RID_TEXT_BYTES];

    *out = (struct rid){ 0 };
    if (text.len >= RID_TEXT_BYTES)
        return false;
    for (size_t i = 0; i < text.len; i++)
        plain[i] = text.data[i] == '-' ? '/' : text.data[i];
    if (!base64_decode(bytes_of(plain, text.len), raw, &out->len))
        return false;
    if (out->len != RID_DATABASE_BYTES && out->len != RID_CONTAINER_BYTES &&
        out->len != RID_ITEM_BYTES)
        return false;
    memcpy(out->raw, raw, out->len);
    return true;
}
