/* Made of: the first death, and what could bring it forward.
 *
 * The first death among the documents is noted while they are read. It comes earlier only if the collection's rules
 * change, or if something is written to a collection with rules: an update may give a document an earlier date.
 * Which document was written is not noted, so whatever is written counts.
 *
 * Keeps: some numbers in the memory of its owner. Threads: the command's that runs the batch. */
#include "front/mongo/made_of.h"

void made_of_nothing(struct made_of *made_of)
{
    *made_of = (struct made_of){ .right_until = TIME_NEVER };
}

void made_of_add(struct made_of *made_of, const struct collection *collection)
{
    for (size_t i = 0; i < made_of->count; i++) {
        if (made_of->collections[i].id == collection->id)
            return;
    }
    if (made_of->count == MADE_OF_COLLECTIONS_MAX) {
        made_of->is_full = true;
        return;
    }
    made_of->collections[made_of->count++] =
        (struct made_of_collection){ .id = collection->id,
                                     .picture = collection->picture,
                                     .writes = collection_writes(collection) };
}

static bool has_rules(const struct collection *collection)
{
    return collection->policy.default_ttl != TTL_OFF || collection->policy.rule_count > 0;
}

/* One that was dropped has no documents that could be dead: its rows stay those of the first batch. */
static bool is_as_it_was(const struct made_of_collection *then, const struct request *request)
{
    const struct collection *now = catalog_find_by_id(request, then->id);

    return !now || (now->picture == then->picture &&
                    (!has_rules(now) || collection_writes(now) == then->writes));
}

bool made_of_living(const struct made_of *made_of, const struct request *request)
{
    if (made_of->is_full || expiry_is_due(made_of->right_until, request->now))
        return false;
    for (size_t i = 0; i < made_of->count; i++) {
        if (!is_as_it_was(&made_of->collections[i], request))
            return false;
    }
    return true;
}
