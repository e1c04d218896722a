/* SQL functions: the table, and the page that is made of it. */
#include <stdio.h>
#include <stdlib.h>

#include "front/cosmos/cosmos.h"
#include "tests/support/ask.h"

static const char *const names[] = {
#define SQL_FUNCTION(name, function) #name,
#include "front/cosmos/sql_functions.def"
#undef SQL_FUNCTION
};

TEST(sql_functions, names_are_in_order_and_written_once)
{
    for (size_t i = 1; i < ARRAY_COUNT(names); i++)
        CHECK_THAT(strcmp(names[i - 1], names[i]) < 0, "%s stands before %s", names[i - 1],
                   names[i]);
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
