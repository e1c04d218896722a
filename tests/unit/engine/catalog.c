/* Databases, collections, indexes: making, changing, finding, dropping, and what a restart leaves. */
#include "tests/support/world.h"

#include <stdio.h>

#define DB BYTES_LITERAL("db")

static void check_names_the_culprit(status s, status_code code, const char *name)
{
    CHECK_CODE(s, code);
    CHECK_THAT(strstr(s.message, name) != NULL, "\"%s\" does not name %s", s.message, name);
}

TEST(catalog, databases_are_listed_in_order_and_survive_a_restart)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("zoo"), BYTES_LITERAL("opt")));
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("art"), BYTES_NONE));
        for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
            struct request request = world_begin(&w);
            CHECK_EQ(catalog_database_count(&request), 3, "");
            CHECK_TEXT(catalog_database(&request, 0), "art");
            CHECK_TEXT(catalog_database(&request, 1), "db");
            CHECK_TEXT(catalog_database(&request, 2), "zoo");
            CHECK_TEXT(catalog_database_options(&request, BYTES_LITERAL("zoo")), "opt");
            CHECK(catalog_has_database(&request, BYTES_LITERAL("art")));
            CHECK(!catalog_has_database(&request, BYTES_LITERAL("ar")));
            world_end(&request);
            world_crash(&w);
        }
        world_close(&w);
    }
}

TEST(catalog, a_database_exists_once_and_has_a_decent_name)
{
    struct world w;
    char long_name[LIMIT_NAME_BYTES + 1];
    memset(long_name, 'n', sizeof(long_name));
    world_open(&w, ON_MEMORY);
    check_names_the_culprit(database_create(w.engine, w.arena, DB, BYTES_NONE), EXISTS, "db");
    CHECK_CODE(database_create(w.engine, w.arena, BYTES_NONE, BYTES_NONE), INVALID);
    CHECK_CODE(
        database_create(w.engine, w.arena, bytes_of(long_name, sizeof(long_name)), BYTES_NONE),
        TOO_LARGE);
    CHECK_CODE(database_create(w.engine, w.arena, bytes_of("a\0b", 3), BYTES_NONE), INVALID);
    CHECK_OK(database_create(w.engine, w.arena, bytes_of(long_name, LIMIT_NAME_BYTES), BYTES_NONE));
    check_names_the_culprit(database_drop(w.engine, w.arena, BYTES_LITERAL("none")), NOT_FOUND,
                            "none");
    world_close(&w);
}

TEST(catalog, options_of_a_database_can_be_set_and_survive)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("zoo"), BYTES_LITERAL("old")));
        check_names_the_culprit(
            database_set_options(w.engine, w.arena, BYTES_LITERAL("none"), BYTES_LITERAL("o")),
            NOT_FOUND, "none");
        CHECK_OK(database_set_options(w.engine, w.arena, DB, BYTES_LITERAL("rate=400")));
        CHECK_OK(database_set_options(w.engine, w.arena, BYTES_LITERAL("zoo"), BYTES_NONE));
        for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
            struct request request = world_begin(&w);
            CHECK_EQ(catalog_database_count(&request), 2, "");
            CHECK_TEXT(catalog_database_options(&request, DB), "rate=400");
            CHECK_TEXT(catalog_database_options(&request, BYTES_LITERAL("zoo")), "");
            CHECK_EQ(world_find(&request, "c")->policy.default_ttl, 10, "its collections stay");
            world_end(&request);
            world_crash(&w);
        }
        world_close(&w);
    }
}

static uint32_t database_id(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    const uint32_t id = catalog_database_id(&request, bytes_of_text(name));
    world_end(&request);
    return id;
}

TEST(catalog, a_database_has_a_number_that_nothing_else_ever_has)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        const uint32_t db = database_id(&w, "db");
        CHECK(db > 0);
        CHECK_EQ(database_id(&w, "zoo"), 0, "not there yet");
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("zoo"), BYTES_NONE));
        const uint32_t zoo = database_id(&w, "zoo");
        struct request request = world_begin(&w);
        const uint32_t c = world_find(&request, "c")->id;
        world_end(&request);
        CHECK(c > db);
        CHECK(zoo > c);
        CHECK_OK(database_set_options(w.engine, w.arena, BYTES_LITERAL("zoo"), DB));
        world_crash(&w);
        CHECK_EQ(database_id(&w, "db"), db, "");
        CHECK_EQ(database_id(&w, "zoo"), zoo, "");
        CHECK_OK(database_drop(w.engine, w.arena, BYTES_LITERAL("zoo")));
        world_crash(&w);
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("zoo"), BYTES_NONE));
        CHECK_THAT(database_id(&w, "zoo") > zoo, "a dropped number comes back");
        world_close(&w);
    }
}

TEST(catalog, dropping_a_database_drops_its_collections_and_nothing_else)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("other"), BYTES_NONE));
        const struct collection_definition definition = { .database = BYTES_LITERAL("other"),
                                                          .name = BYTES_LITERAL("c"),
                                                          .default_ttl = TTL_OFF };
        CHECK_OK(collection_create(w.engine, w.arena, &definition, NULL, 0));
        CHECK_OK(database_drop(w.engine, w.arena, BYTES_LITERAL("other")));
        for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
            struct request request = world_begin(&w);
            const struct collection *found;
            CHECK_EQ(catalog_collection_count(&request), 1, "");
            check_names_the_culprit(
                catalog_find(&request, BYTES_LITERAL("other"), BYTES_LITERAL("c"), &found),
                NOT_FOUND, "other");
            world_end(&request);
            CHECK_LIVING(&w, "c", "1");
            world_purge(&w);
            world_restart(&w);
        }
        world_close(&w);
    }
}

TEST(catalog, a_collection_keeps_all_it_was_made_with)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        const bytes paths[] = { BYTES_LITERAL("tenant"), BYTES_LITERAL("user.id") };
        const struct collection_definition definition = {
            .database = DB,
            .name = BYTES_LITERAL("c"),
            .default_ttl = 77,
            .options = BYTES_LITERAL("any \0 bytes"),
            .partition_path_count = 2,
            .partition_paths = paths,
        };
        const struct index_definition index =
            world_index_definition(&w, "ab: a -b.c unique sparse where=flag");
        CHECK_OK(collection_create(w.engine, w.arena, &definition, &index, 1));
        for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
            struct request request = world_begin(&w);
            const struct collection *c = world_find(&request, "c");
            CHECK_TEXT(c->definition.database, "db");
            CHECK_TEXT(c->definition.name, "c");
            CHECK_EQ(c->definition.default_ttl, 77, "");
            CHECK_EQ(c->policy.default_ttl, 77, "");
            CHECK_BYTES(c->definition.options, definition.options, "");
            CHECK_EQ(c->definition.partition_path_count, 2, "");
            CHECK_TEXT(c->definition.partition_paths[0], "tenant");
            CHECK_TEXT(c->definition.partition_paths[1], "user.id");
            const struct index *ab = collection_index(c, BYTES_LITERAL("ab"));
            CHECK(ab != NULL);
            CHECK_EQ(ab->state, INDEX_READY, "of an empty collection");
            CHECK_EQ(index_progress_per_mille(ab), 1000, "");
            CHECK(ab->definition.is_unique && ab->definition.is_sparse &&
                  ab->definition.is_partial);
            CHECK_TEXT(ab->definition.predicate, "flag");
            CHECK_EQ(ab->definition.field_count, 2, "");
            CHECK_TEXT(ab->definition.fields[1].path, "b.c");
            CHECK_EQ(ab->definition.fields[0].order, KEY_ASCENDING, "");
            CHECK_EQ(ab->definition.fields[1].order, KEY_DESCENDING, "");
            CHECK_EQ(ab->definition.expire_after_s, INDEX_NO_EXPIRY, "");
            CHECK(catalog_find_by_id(&request, c->id) == c);
            world_end(&request);
            world_restart(&w);
        }
        world_close(&w);
    }
}

TEST(catalog, path_patterns_survive_a_restart)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "all: paths +/a/? +/b/* -/b/secret/*");
    world_restart(&w);
    struct request request = world_begin(&w);
    const struct index *all = collection_index(world_find(&request, "c"), BYTES_LITERAL("all"));
    CHECK_EQ(all->definition.kind, INDEX_PATHS, "");
    CHECK_EQ(all->definition.included_count, 2, "");
    CHECK_EQ(all->definition.excluded_count, 1, "");
    CHECK_TEXT(all->definition.included[1], "/b/*");
    CHECK_TEXT(all->definition.excluded[0], "/b/secret/*");
    world_end(&request);
    world_close(&w);
}

TEST(catalog, c2_a_new_collection_takes_only_a_proper_default_ttl)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    const int32_t bad[] = { 0, -2, -100 };
    EACH_ROW(bad, ttl)
        CHECK_CODE(world_try_collection(&w, "c", *ttl, ""), INVALID);
    CHECK_OK(world_try_collection(&w, "c", 2147483647, ""));
    EACH_ROW(bad, ttl)
        CHECK_CODE(world_set_ttl(&w, "c", *ttl), INVALID);
    struct request request = world_begin(&w);
    CHECK_EQ(world_find(&request, "c")->policy.default_ttl, 2147483647, "nothing changed");
    world_end(&request);
    world_close(&w);
}

TEST(catalog, what_is_missing_or_there_already_is_named)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    check_names_the_culprit(world_try_collection(&w, "c", TTL_OFF, ""), EXISTS, "c");
    check_names_the_culprit(world_set_ttl(&w, "nix", 5), NOT_FOUND, "nix");
    check_names_the_culprit(world_index(&w, "nix", "y: y"), NOT_FOUND, "nix");
    check_names_the_culprit(world_index(&w, "c", "x: y"), EXISTS, "x");
    check_names_the_culprit(world_index_drop(&w, "c", "nix"), NOT_FOUND, "nix");
    check_names_the_culprit(world_set_expiry(&w, "c", "nix", 5), NOT_FOUND, "nix");
    check_names_the_culprit(collection_drop(w.engine, w.arena, DB, BYTES_LITERAL("nix")), NOT_FOUND,
                            "nix");
    check_names_the_culprit(
        collection_drop(w.engine, w.arena, BYTES_LITERAL("void"), BYTES_LITERAL("c")), NOT_FOUND,
        "void");
    const struct collection_definition nowhere = { .database = BYTES_LITERAL("void"),
                                                   .name = BYTES_LITERAL("c"),
                                                   .default_ttl = TTL_OFF };
    check_names_the_culprit(collection_create(w.engine, w.arena, &nowhere, NULL, 0), NOT_FOUND,
                            "void");
    CHECK_CODE(world_try_collection(&w, "", TTL_OFF, ""), INVALID);
    world_close(&w);
}

TEST(catalog, an_index_that_makes_no_sense_is_refused_and_changes_nothing)
{
    const struct {
        const char *why, *index;
    } rows[] = {
        {"no field",                                 "bad:"                 },
        { "an empty part",                           "bad: a..b"            },
        { "M-10 two fields with an expiry",          "bad: a b ttl=10"      },
        { "M-10 a negative expiry",                  "bad: a ttl=-5"        },
        { "M-10 patterns with an expiry",            "bad: paths +/* ttl=10"},
        { "unique patterns",                         "bad: paths +/* unique"},
        { "a pattern without a slash",               "bad: paths +a/?"      },
        { "a pattern with something behind its end", "bad: paths +/a/*/b"   },
    };
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    EACH_ROW(rows, r) {
        CHECK_EQ(world_index(&w, "c", r->index).code, INVALID, "%s", r->why);
        CHECK_EQ(world_try_collection(&w, "d", TTL_OFF, r->index).code, INVALID, "%s", r->why);
    }
    struct request request = world_begin(&w);
    CHECK_EQ(world_find(&request, "c")->index_count, 0, "");
    CHECK_EQ(catalog_collection_count(&request), 1, "");
    world_end(&request);
    world_close(&w);
}

TEST(catalog, m10_only_an_index_on_one_field_can_be_given_an_expiry)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "ab: a b; all: paths +/*; a: a");
    CHECK_CODE(world_set_expiry(&w, "c", "ab", 5), INVALID);
    CHECK_CODE(world_set_expiry(&w, "c", "all", 5), INVALID);
    CHECK_CODE(world_set_expiry(&w, "c", "a", -2), INVALID);
    CHECK_OK(world_set_expiry(&w, "c", "a", 0));
    CHECK_OK(world_set_expiry(&w, "c", "a", 2147483647));
    world_close(&w);
}

TEST(catalog, limits_on_indexes_are_kept)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int i = 0; i < LIMIT_INDEXES; i++) {
        char text[32];
        snprintf(text, sizeof(text), "i%d: f%d", i, i);
        CHECK_OK(world_index(&w, "c", text));
    }
    CHECK_CODE(world_index(&w, "c", "one_more: x"), TOO_LARGE);
    CHECK_OK(world_index_drop(&w, "c", "i5"));
    CHECK_OK(world_index(&w, "c", "one_more: x"));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1,'f7':2}"), OK);
    CHECK_LIVING(&w, "c", "1");
    world_close(&w);
}

TEST(catalog, a_dropped_collection_is_gone_and_its_name_is_free_for_an_empty_one)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "u: u unique; at: at ttl=5");
            for (int i = 0; i < 20; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'u':%d,'at':@0}", i, i), OK);
            CHECK_OK(collection_drop(w.engine, w.arena, DB, BYTES_LITERAL("c")));
            if (is_purged)
                world_purge(&w);
            world_collection(&w, "c", TTL_OFF, "u: u unique");
            CHECK_LIVING(&w, "c", "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1,'at':@0}"), OK);
            world_crash(&w);
            world_pass(&w, 100000);
            world_purge(&w);
            CHECK_LIVING(&w, "c", "1");
            world_close(&w);
        }
    }
}

TEST(catalog, a_request_that_found_a_collection_keeps_it_after_the_drop)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    struct request request = world_begin(&w);
    const struct collection *c = world_find(&request, "c");
    CHECK_STRING(world_scan_in(&request, "c", "key"), "1");
    CHECK_OK(collection_drop(w.engine, w.arena, DB, BYTES_LITERAL("c")));
    CHECK_TEXT(c->definition.name, "c");
    struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':2}");
    CHECK_CODE(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING), NOT_FOUND);
    world_end(&request);
    world_close(&w);
}

TEST(catalog, renaming_moves_a_collection_with_its_documents_and_policy)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        world_collection(&w, "taken", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        CHECK_CODE(collection_rename(w.engine, w.arena, DB, BYTES_LITERAL("c"), DB,
                                     BYTES_LITERAL("taken")),
                   EXISTS);
        CHECK_CODE(collection_rename(w.engine, w.arena, DB, BYTES_LITERAL("c"),
                                     BYTES_LITERAL("void"), BYTES_LITERAL("d")),
                   NOT_FOUND);
        CHECK_CODE(
            collection_rename(w.engine, w.arena, DB, BYTES_LITERAL("nix"), DB, BYTES_LITERAL("d")),
            NOT_FOUND);
        CHECK_CODE(collection_rename(w.engine, w.arena, DB, BYTES_LITERAL("c"), DB, BYTES_NONE),
                   INVALID);
        CHECK_OK(
            collection_rename(w.engine, w.arena, DB, BYTES_LITERAL("c"), DB, BYTES_LITERAL("d")));
        CHECK_LIVING(&w, "d", "1");
        world_restart(&w);
        CHECK_LIVING(&w, "d", "1");
        CHECK_OK(world_try_collection(&w, "c", TTL_OFF, ""));
        world_at(&w, 10000);
        CHECK_LIVING(&w, "d", "");
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(catalog, options_are_kept_for_whoever_set_them)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_OK(collection_set_options(w.engine, w.arena, DB, BYTES_LITERAL("c"),
                                    BYTES_LITERAL("{mode: lazy}")));
    world_crash(&w);
    struct request request = world_begin(&w);
    CHECK_TEXT(world_find(&request, "c")->definition.options, "{mode: lazy}");
    world_end(&request);
    world_close(&w);
}

TEST(catalog, several_settings_change_in_one_step_or_not_at_all)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x; y: y");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        const struct index_definition adds[] = { world_index_definition(&w, "x: x -y"),
                                                 world_index_definition(&w, "z: z") };
        const bytes drops[] = { BYTES_LITERAL("x"), BYTES_LITERAL("y") };
        struct collection_change wanted = {
            .sets_default_ttl = true,
            .default_ttl = 100,
            .sets_options = true,
            .options = BYTES_LITERAL("{mode: lazy}"),
            .drops = drops,
            .drop_count = 2,
            .adds = adds,
            .add_count = 2,
        };
        struct request request = world_begin(&w);
        const uint64_t version = world_find(&request, "c")->version;
        world_end(&request);
        CHECK_OK(collection_change(w.engine, w.arena, DB, BYTES_LITERAL("c"), &wanted));
        world_crash(&w);
        CHECK_OK(engine_build_indexes(w.engine));
        request = world_begin(&w);
        const struct collection *c = world_find(&request, "c");
        CHECK_EQ(c->policy.default_ttl, 100, "");
        CHECK_TEXT(c->definition.options, "{mode: lazy}");
        CHECK_EQ(c->index_count, 2, "");
        CHECK_EQ(collection_index(c, BYTES_LITERAL("x"))->definition.field_count, 2, "");
        CHECK(c->version > version);
        world_end(&request);
        world_at(&w, 99999);
        CHECK_LIVING(&w, "c", "1");

        wanted.default_ttl = 5;
        wanted.options = BYTES_LITERAL("never seen");
        check_names_the_culprit(
            collection_change(w.engine, w.arena, DB, BYTES_LITERAL("c"), &wanted), NOT_FOUND, "y");
        wanted.default_ttl = 0;
        CHECK_CODE(collection_change(w.engine, w.arena, DB, BYTES_LITERAL("c"), &wanted), INVALID);
        request = world_begin(&w);
        CHECK_EQ(world_find(&request, "c")->policy.default_ttl, 100, "");
        CHECK_TEXT(world_find(&request, "c")->definition.options, "{mode: lazy}");
        world_end(&request);
        CHECK_LIVING(&w, "c", "1");
        world_close(&w);
    }
}

TEST(catalog, every_change_raises_the_version_and_is_there_after_a_crash)
{
    EACH_BACKING(backing)
    {
        struct world w;
        uint64_t version = 0;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        for (int step = 0; step < 5; step++) {
            if (step == 1)
                CHECK_OK(world_set_ttl(&w, "c", 1234));
            if (step == 2)
                CHECK_OK(world_index(&w, "c", "at: at ttl=9"));
            if (step == 3)
                CHECK_OK(world_set_expiry(&w, "c", "at", 99));
            if (step == 4)
                CHECK_OK(world_index_drop(&w, "c", "x"));
            world_crash(&w);
            struct request request = world_begin(&w);
            const struct collection *c = world_find(&request, "c");
            const struct index *at = collection_index(c, BYTES_LITERAL("at"));
            CHECK_THAT(step == 0 || c->version > version, "step %d", step);
            version = c->version;
            CHECK_EQ(c->policy.default_ttl, step >= 1 ? 1234 : TTL_OFF, "step %d", step);
            CHECK_EQ(at != NULL, step >= 2, "step %d", step);
            if (at != NULL)
                CHECK_EQ(at->definition.expire_after_s, step >= 3 ? 99 : 9, "step %d", step);
            CHECK_EQ(collection_index(c, BYTES_LITERAL("x")) != NULL, step < 4, "step %d", step);
            world_end(&request);
        }
        world_close(&w);
    }
}

TEST(catalog, many_collections_are_listed_in_order_of_their_names)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%02d", (i * 37) % 50);
        world_collection(&w, name, TTL_OFF, "");
    }
    struct request request = world_begin(&w);
    CHECK_EQ(catalog_collection_count(&request), 50, "");
    for (size_t i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%02zu", i);
        CHECK_TEXT(catalog_collection(&request, i)->definition.name, name);
    }
    world_end(&request);
    world_close(&w);
}

TEST(catalog, a_database_of_a_newer_program_is_not_opened)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_stop(&w);
    /* The format row is the only one in the catalog's partition that starts with F. */
    struct storage *rows = kept_storage_attach(w.kept);
    const struct row_address meta = { .partition = 0, .space = SPACE_META };
    struct storage_batch *batch = storage_batch_open(rows);
    struct storage_scan *scan;
    bytes key, value;
    const struct storage_range format = { .start = BYTES_LITERAL("F"), .end = BYTES_LITERAL("G") };
    CHECK_OK(storage_scan_open(rows, NULL, meta, &format, &scan));
    CHECK(storage_scan_next(scan, &key, &value));
    uint8_t newer[64];
    CHECK(value.len > 0 && value.len <= sizeof(newer));
    memset(newer, 0xFE, value.len);
    storage_put(rows, batch, meta, key, bytes_of(newer, value.len));
    storage_scan_close(scan);
    CHECK_OK(storage_commit(rows, batch, NULL, 0, w.arena, NULL));
    storage_batch_close(rows, batch);
    storage_close(rows);
    CHECK_CODE(world_start(&w), CORRUPT);
    world_forget(&w);
}

TEST(catalog, a_change_for_another_version_is_a_conflict)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    struct request request = world_begin(&w);
    struct collection_change first = { .if_version = world_find(&request, "c")->version,
                                       .sets_options = true,
                                       .options = BYTES_LITERAL("one") };
    struct collection_change second = first;
    second.options = BYTES_LITERAL("two");
    world_end(&request);
    CHECK_OK(collection_change(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &first));
    CHECK_CODE(
        collection_change(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &second),
        CONFLICT);
    request = world_begin(&w);
    CHECK_TEXT(world_find(&request, "c")->definition.options, "one");
    world_end(&request);
    world_close(&w);
}

TEST(catalog, a_collection_takes_the_place_of_another_in_one_step)
{
    EACH_BACKING(backing)
    {
        const bytes db = BYTES_LITERAL("db"), from = BYTES_LITERAL("from"),
                    to = BYTES_LITERAL("to");
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "to", TTL_OFF, "n: n");
        world_collection(&w, "from", TTL_OFF, "");
        CHECK_WRITTEN(world_insert(&w, "from", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "to", "{'_id':2,'n':1}"), OK);
        CHECK_CODE(collection_rename(w.engine, w.arena, db, from, db, to), EXISTS);
        CHECK_OK(collection_rename_over(w.engine, w.arena, db, from, db, to));
        CHECK_LIVING(&w, "to", "1");
        CHECK_CODE(collection_rename_over(w.engine, w.arena, db, from, db, to), NOT_FOUND);
        CHECK_CODE(collection_rename_over(w.engine, w.arena, db, to, db, to), INVALID);
        CHECK_OK(collection_rename_over(w.engine, w.arena, db, to, db, from));
        world_crash(&w);
        CHECK_LIVING(&w, "from", "1");
        world_purge(&w);
        CHECK_LIVING(&w, "from", "1");
        world_close(&w);
    }
}

static void check_described(struct world *w, const char *from, const char *to)
{
    struct request request = world_begin(w);
    const struct collection *was = world_find(&request, from), *is = world_find(&request, to);

    CHECK_EQ(is->policy.default_ttl, was->policy.default_ttl, "");
    CHECK_EQ(is->definition.partition_path_count, was->definition.partition_path_count, "");
    CHECK_EQ(is->index_count, was->index_count, "");
    for (size_t i = 0; i < is->index_count; i++) {
        const struct index_definition *a = &was->indexes[i].definition;
        const struct index_definition *b = &is->indexes[i].definition;
        CHECK_BYTES(b->name, a->name, "name");
        CHECK_EQ(b->kind, a->kind, "");
        CHECK_EQ(b->is_unique, a->is_unique, "");
        CHECK_EQ(b->expire_after_s, a->expire_after_s, "");
        CHECK_EQ(b->included_count, a->included_count, "");
    }
    world_end(&request);
}

TEST(catalog, a_description_makes_the_same_collection_again)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, "c", 100, "a: a unique; at: at ttl=50; all: paths +/*", "pk");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'pk':1,'a':1}"), OK);
    struct request request = world_begin(&w);
    const struct collection *collection = world_find(&request, "c");
    const bytes database = BYTES_LITERAL("db");
    bytes description, copy;
    CHECK_OK(collection_describe(w.arena, collection, &description));
    world_end(&request);
    CHECK_OK(collection_recreate(w.engine, w.arena, database, BYTES_LITERAL("again"), description));
    check_described(&w, "c", "again");
    CHECK_CODE(
        collection_recreate(w.engine, w.arena, database, BYTES_LITERAL("again"), description),
        EXISTS);
    CHECK_OK(arena_copy(w.arena, description, &copy));
    ((uint8_t *)(uintptr_t)copy.data)[20] ^= 1;
    CHECK_CODE(collection_recreate(w.engine, w.arena, database, BYTES_LITERAL("other"), copy),
               CORRUPT);
    CHECK_CODE(collection_recreate(w.engine, w.arena, database, BYTES_LITERAL("other"),
                                   bytes_of(copy.data, 7)),
               CORRUPT);
    world_close(&w);
}
