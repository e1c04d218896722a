/* How long a command may take: maxTimeMS holds inside of one document, and for the rows that one document becomes. */
#include "tests/support/mongo_face.h"

#include <pthread.h>

/* Time that passes while a command runs. */
struct passing {
    struct mongo_face *f;
    pthread_t thread;
    _Atomic bool is_over;
};

static void *let_time_pass(void *context)
{
    struct passing *passing = context;

    while (!atomic_load(&passing->is_over)) {
        manual_time_pass(&passing->f->world.time, 1);
        sched_yield();
    }
    return NULL;
}

static void insert_long_array(struct mongo_face *f, int count)
{
    struct buffer text = buffer_in(f->world.arena);

    buffer_append_text(&text, "{'insert':'c','documents':[{'_id':1,'a':[0");
    for (int i = 1; i < count; i++)
        buffer_append_format(&text, ",%d", i);
    buffer_append_text(&text, "]}]}");
    buffer_append_byte(&text, 0);
    CHECK_DONE(mongo_ask(f, "%s", (const char *)text.data));
}

TEST(mongo_patience, a_time_limit_ends_work_on_one_document_and_on_what_it_becomes)
{
    static const struct {
        const char *why, *command;
    } rows[] = {
        {"an expression of a stage",      "{'aggregate':'c','cursor':{},'pipeline':[{'$project':{'x':{'"
                                      "$filter':{'input':'$a','as':'x',"
                                      "'cond':{'$in':[{'$subtract':[-1,'$$x']},'$a']}}}}}]"},
        { "an expression of a condition",
         "{'find':'c','filter':{'$expr':{'$allElementsTrue':{'$map':{'input':'$a','as':'x','in':"
          "{'$not':[{'$in':[{'$subtract':[-1,'$$x']},'$a']}]}}}}}"                                                             },
        { "an expression of a group",
         "{'aggregate':'c','cursor':{},'pipeline':[{'$group':{'_id':{'$size':{'$filter':{'input':'"
          "$a',"
          "'as':'x','cond':{'$in':[{'$subtract':[-1,'$$x']},'$a']}}}}}}]"                                                      },
        { "an expression of an update",
         "{'update':'c','updates':[{'q':{},'u':[{'$set':{'x':{'$filter':{'input':'$a','as':'x',"
          "'cond':{'$in':[{'$subtract':[-1,'$$x']},'$a']}}}}}]}]"                                                              },
        { "rows of an array with itself",
         "{'aggregate':'c','cursor':{},'pipeline':[{'$set':{'b':'$a','d':'$a'}},{'$unwind':'$b'},"
          "{'$unwind':'$d'},{'$count':'n'}]"                                                                                   },
        { "the same inside of a facet",
         "{'aggregate':'c','cursor':{},'pipeline':[{'$facet':{'f':[{'$set':{'b':'$a','d':'$a'}},"
          "{'$unwind':'$b'},{'$unwind':'$d'},{'$count':'n'}]}}]"                                                               },
        { "the same inside of a lookup",
         "{'aggregate':'c','cursor':{},'pipeline':[{'$lookup':{'from':'c','as':'f','pipeline':[{'$"
          "set':{'b':"
          "'$a','d':'$a'}},{'$unwind':'$b'},{'$unwind':'$d'},{'$count':'n'}]}}]"                                               },
    };
    struct mongo_face f;
    struct passing passing = { .f = &f };

    mongo_face_open(&f);
    insert_long_array(&f, 4000);
    CHECK(pthread_create(&passing.thread, NULL, let_time_pass, &passing) == 0);
    EACH_ROW(rows, r) {
        const struct mongo_answer a = mongo_ask(&f, "%s,'maxTimeMS':5}", r->command);
        CHECK_EQ(a.code, 50, "%s: %s", r->why, a.message ? a.message : "no error");
    }
    atomic_store(&passing.is_over, true);
    pthread_join(passing.thread, NULL);
    mongo_face_close(&f);
}
