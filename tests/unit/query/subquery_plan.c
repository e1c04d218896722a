/* Plans of subqueries over the container: what they want of documents is looked up like any other condition. */
#include "tests/support/ask.h"

enum { DOCUMENTS = 60 };

TEST(query_subquery_plan, conditions_of_a_subquery_are_looked_up_in_an_index)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT VALUE x._id FROM (SELECT VALUE c FROM c WHERE c.n = 7) AS x",                      "[7]"  },
        { "SELECT VALUE x FROM (SELECT VALUE c._id FROM c WHERE c.n = 7) AS x WHERE x > 5",         "[7]"  },
        { "SELECT VALUE COUNT(1) FROM (SELECT VALUE c FROM c WHERE c.n = 7) AS x",                  "[1]"  },
        { "SELECT VALUE y FROM (SELECT VALUE x._id FROM (SELECT VALUE c FROM c WHERE c.n = 7) AS "
          "x) AS y",                                                                       "[7]"  },
        { "SELECT VALUE t FROM t IN (SELECT VALUE c.a FROM c WHERE c.n = 7)",                       "[1,7]"},
        { "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c WHERE c.n = 7)",            "[1]"  },
        { "SELECT x.n, COUNT(1) AS k FROM (SELECT VALUE c FROM c WHERE c.n = 7) AS x GROUP BY x.n",
         "[{\"n\":7,\"k\":1}]"                                                                             },
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "all: paths +/*");
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':%d,'a':[1,%d]}", i, i, i), OK);
    EACH_ROW(rows, r) {
        struct query_explain e;
        CHECK_STRING(ask(&w, "c", r->sql, NULL, &e), r->want);
        CHECK_THAT(e.access == ACCESS_INDEX && e.rows == 1 && e.documents <= 2,
                   "%s: access %d, %d rows, %d documents", r->sql, (int)e.access, (int)e.rows,
                   (int)e.documents);
    }
    world_close(&w);
}
