/* Marks around waits: whom they reach, nested and alone. */
#include "tests/check.h"

#include "base/base.h"

struct count {
    unsigned begun, ended;
    bool is_full;
};

static bool begin(void *context)
{
    struct count *count = context;

    count->begun++;
    return !count->is_full;
}

static void end(void *context)
{
    ((struct count *)context)->ended++;
}

TEST(block, marks_do_nothing_where_nobody_listens)
{
    CHECK(block_begin());
    block_end();
}

TEST(block, only_the_outermost_mark_is_told)
{
    struct count count = { 0 };
    struct block_host host = { begin, end, &count };

    block_set_host(&host);
    CHECK(block_begin());
    count.is_full = true;
    CHECK(block_begin());
    block_end();
    CHECK_EQ(count.begun, 1, "");
    CHECK_EQ(count.ended, 0, "");
    block_end();
    CHECK_EQ(count.ended, 1, "");
    block_set_host(NULL);
}

TEST(block, a_refused_mark_leaves_nothing_to_end)
{
    struct count count = { .is_full = true };
    struct block_host host = { begin, end, &count };

    block_set_host(&host);
    CHECK(!block_begin());
    CHECK(!block_begin());
    CHECK_EQ(count.begun, 2, "");
    CHECK_EQ(count.ended, 0, "");
    block_set_host(NULL);
}
