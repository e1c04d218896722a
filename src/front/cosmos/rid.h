/* Resource ids: the numbers behind names, as base64 with '-' for '/'. A database has 4 bytes, a container 8
 * (its database's first), an item 16 (its container's first). A resource that is created again under the
 * same name gets a new one. */
#ifndef FRONT_COSMOS_RID_H
#define FRONT_COSMOS_RID_H

#include "base/base.h"

enum { RID_DATABASE_BYTES = 4, RID_CONTAINER_BYTES = 8, RID_ITEM_BYTES = 16, RID_TEXT_BYTES = 25 };

struct rid {
    size_t len;
    uint8_t raw[RID_ITEM_BYTES];
};

struct rid rid_of_database(uint32_t database_id);
struct rid rid_of_container(uint32_t database_id, uint32_t collection_id);
/* `birth` is the number of the write that created the item. */
struct rid rid_of_item(struct rid container, uint64_t birth);
/* Users lie beside containers, permissions beside items. */
struct rid rid_of_user(uint32_t database_id, uint32_t user_number);
struct rid rid_of_permission(struct rid user, uint64_t birth);
/* The one partition key range of a container. */
struct rid rid_of_range(struct rid container);

void rid_format(const struct rid *rid, char out[RID_TEXT_BYTES]);
/* False if the text is not a resource id. */
bool rid_parse(bytes text, struct rid *out);

uint32_t rid_database(const struct rid *rid);
/* 0 if it has no container in it. */
uint32_t rid_container(const struct rid *rid);
uint64_t rid_item(const struct rid *rid);

/* Base64 as RFC 4648 has it, with padding. */
void base64_append(struct buffer *out, bytes raw);
/* False if it is not base64; `out` has room for text.len * 3 / 4 bytes. */
bool base64_decode(bytes text, uint8_t *out, size_t *len_out);

#endif
