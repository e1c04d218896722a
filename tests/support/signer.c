/* Signer: the client's side of a signature, written apart from the server's. */
#include "tests/support/signer.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "front/cosmos/auth_date.h"
#include "front/cosmos/link.h"

static const char key_text[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

const char *signer_date(struct arena *arena, time_ms machine_now)
{
    char text[AUTH_DATE_BYTES + 1];

    auth_date_format(machine_now, text);
    return arena_format(arena, "%s", text);
}

static void append_lower(struct buffer *out, const char *text)
{
    for (; *text; text++)
        buffer_append_byte(out, (uint8_t)tolower((unsigned char)*text));
}

const char *signer_authorization(struct arena *arena, const char *method, const char *target,
                                 const char *date)
{
    struct buffer text = buffer_in(arena);
    struct link link;
    unsigned char key[66], mac[EVP_MAX_MD_SIZE], encoded[2 * EVP_MAX_MD_SIZE];
    unsigned mac_len = 0;

    ASSERT(link_parse(arena, bytes_of_text(target), &link).code == OK);
    bool is_operation = link.count == 6 && bytes_equal(link.parts[4], BYTES_LITERAL("operations"));
    size_t count = is_operation ? 4 : link.count - link.count % 2;
    append_lower(&text, method);
    buffer_append_byte(&text, '\n');
    if (link.count % 2 == 1)
        buffer_append(&text, link.parts[link.count - 1]);
    else if (count > 0)
        buffer_append(&text, link.parts[count - 2]);
    buffer_append_byte(&text, '\n');
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(&text, i > 0 ? "/" : "");
        buffer_append(&text, link.parts[i]);
    }
    buffer_append_byte(&text, '\n');
    append_lower(&text, date);
    buffer_append_text(&text, "\n\n");
    ASSERT(EVP_DecodeBlock(key, (const unsigned char *)key_text, sizeof(key_text) - 1) == 66);
    HMAC(EVP_sha256(), key, 64, text.data, text.len, mac, &mac_len);
    EVP_EncodeBlock(encoded, mac, (int)mac_len);
    struct buffer header = buffer_in(arena);
    buffer_append_text(&header, "type%3Dmaster%26ver%3D1.0%26sig%3D");
    link_append_encoded(&header, bytes_of_text((const char *)encoded));
    buffer_append_byte(&header, 0);
    ASSERT(!header.is_failed);
    return (const char *)header.data;
}
