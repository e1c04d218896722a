/* SQL functions: the table, and the page that is made of it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/cosmos/cosmos.h"
#include "tests/support/ask.h"

static const char *const names[] = {
#define SQL_FUNCTION(name, function, tests) #name,
#include "front/cosmos/sql_functions.def"
#undef SQL_FUNCTION
};

static const struct {
    const char *name;
    const char *table;
} tested[] = {
#define SQL_FUNCTION(name, function, tests) { #name, tests },
#include "front/cosmos/sql_functions.def"
#undef SQL_FUNCTION
#define SQL_AGGREGATE(name, kind, what, tests) { #name, tests },
#include "front/cosmos/sql_aggregates.def"
#undef SQL_AGGREGATE
};

static size_t read_file(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");

    CHECK_THAT(file != NULL, "%s is not there", path);
    size_t len = fread(text, 1, room - 1, file);
    fclose(file);
    CHECK_THAT(len < room - 1, "%s is too long", path);
    text[len] = 0;
    return len;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Is the function called somewhere in the text? */
static bool is_called(const char *text, const char *name)
{
    for (const char *at = text; (at = strcasestr(at, name)) != NULL; at++) {
        if ((at == text || !is_name_byte(at[-1])) && at[strlen(name)] == '(')
            return true;
    }
    return false;
}

TEST(sql_functions, names_are_in_order_and_written_once)
{
    for (size_t i = 1; i < ARRAY_COUNT(names); i++)
        CHECK_THAT(strcmp(names[i - 1], names[i]) < 0, "%s stands before %s", names[i - 1],
                   names[i]);
}

TEST(sql_functions, every_one_is_called_in_the_table_of_tests_that_it_names)
{
    static char text[128 * 1024];
    char path[128];

    EACH_ROW(tested, row) {
        snprintf(path, sizeof(path), "tests/corpus/language/%s.txt", row->table);
        read_file(path, text, sizeof(text));
        CHECK_THAT(is_called(text, row->name), "%s does not call %s", path, row->name);
    }
}

TEST(sql_functions, the_page_in_docs_is_what_the_table_says)
{
    enum { PAGE_BYTES_MAX = 256 * 1024 };
    struct arena *arena = arena_open(4 * PAGE_BYTES_MAX);
    struct buffer table = buffer_in(arena);
    FILE *file = fopen("docs/sql-functions.md", "rb");
    void *page;

    CHECK(file != NULL);
    CHECK_OK(arena_take(arena, PAGE_BYTES_MAX, &page));
    size_t len = fread(page, 1, PAGE_BYTES_MAX, file);
    fclose(file);
    cosmos_describe_functions(&table);
    CHECK(!table.is_failed);
    CHECK_THAT(len > table.len, "docs/sql-functions.md has %zu bytes", len);
    CHECK_BYTES(bytes_from(bytes_of(page, len), len - table.len), bytes_of(table.data, table.len),
                "write it again: mayfly functions > docs/sql-functions.md");
    arena_close(arena);
}
