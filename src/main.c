/* mayfly: the command. Reads the configuration and does what it was asked for.
 *
 * Exit codes: 0 done, 1 it failed or `check` found something wrong, 2 it was asked for something that cannot be done
 * (a bad option; for `check`, a database that cannot be opened).
 *
 * Threads: only the one that runs main; the server and the engine have their own. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "front/cosmos/cosmos.h"
#include "front/mongo/mongo.h"
#include "server/server.h"

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { MAIN_ARENA_BYTES = 64 * 1024 * 1024 };

static int run(struct arena *arena, size_t argument_count, char *const *arguments);
static int run_serve(struct arena *arena, const struct config *config);
static int run_check(struct arena *arena, const struct config *config);
static int run_backup(struct arena *arena, const struct config *config);
static int run_confirm_clock(struct arena *arena, const struct config *config);
static int run_export(struct arena *arena, const struct config *config);
static int run_import(struct arena *arena, const struct config *config);
static int run_restore(struct arena *arena, const struct config *config);
static int print_help(struct arena *arena);
static int print_routes(struct arena *arena);
static int print_functions(struct arena *arena);
static int print_commands(struct arena *arena);
static int print_operators(struct arena *arena);

int main(int argument_count, char **arguments)
{
    memory_prepare();
    struct arena *arena = arena_open(MAIN_ARENA_BYTES);

    if (!arena)
        return EXIT_FAILED;
    int code = run(arena, argument_count > 0 ? (size_t)argument_count : 0, arguments);
    arena_close(arena);
    return code;
}

static int fail(enum exit_code code, const char *message)
{
    fprintf(stderr, "mayfly: %s\n", message);
    return (int)code;
}

/* What one can ask for, in the order of the help. */
static const struct command_row {
    const char *word;
    enum command command;
    int (*run)(struct arena *, const struct config *);
    const char *help;
} commands[] = {
    {"serve",          COMMAND_SERVE,         run_serve,         "run the server until SIGTERM or SIGINT"          },
    { "check",         COMMAND_CHECK,         run_check,
     "verify every invariant of a stopped database; exit 1 if one is broken"                                       },
    { "backup",        COMMAND_BACKUP,        run_backup,        "copy the database, which may be served meanwhile"},
    { "confirm-clock", COMMAND_CONFIRM_CLOCK, run_confirm_clock,
     "tell a running server that its clock is right although it has leapt"                                         },
    { "export",        COMMAND_EXPORT,        run_export,
     "write all living documents, of one instant, to files; users stay"                                            },
    { "import",        COMMAND_IMPORT,        run_import,
     "bring in what an export or mongodump wrote; the server may run"                                              },
    { "restore",       COMMAND_RESTORE,       run_restore,
     "make a data directory from a backup, comparing all checksums"                                                },
};

static const struct command_row *find_command(const char *word)
{
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        if (strcmp(word, commands[i].word) == 0)
            return &commands[i];
    }
    return NULL;
}

static int run(struct arena *arena, size_t argument_count, char *const *arguments)
{
    const char *word = argument_count > 1 ? arguments[1] : "";
    const struct command_row *command = find_command(word);
    struct config config;

    if (strcmp(word, "--version") == 0) {
        printf("mayfly %s\n", house_version);
        return EXIT_DONE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print_help(arena);
    if (strcmp(word, "routes") == 0)
        return print_routes(arena);
    if (strcmp(word, "functions") == 0)
        return print_functions(arena);
    if (strcmp(word, "commands") == 0)
        return print_commands(arena);
    if (strcmp(word, "operators") == 0)
        return print_operators(arena);
    if (!command)
        return fail(EXIT_USAGE,
                    argument_count > 1
                        ? arena_format(arena, "there is no command \"%s\"; see --help", word)
                        : "say what to do: mayfly serve, or see mayfly --help");
    status s = config_read(arena, command->command, argument_count - 2, arguments + 2, &config);
    if (s.code != OK)
        return fail(EXIT_USAGE, s.message);
    if (config.wants_help)
        return print_help(arena);
    umask(077); /* whatever is written is its owner's */
    return command->run(arena, &config);
}

static int print_text(struct buffer *text)
{
    bytes out;
    status s = buffer_finish(text, &out);

    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    fwrite(out.data, 1, out.len, stdout);
    return EXIT_DONE;
}

static int print_help(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text, "mayfly: a document database where expired means gone\n");
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        const char *usage = arena_format(arena, "mayfly %s [options]", commands[i].word);
        buffer_append_format(&text, "\n%-27s %s\n", usage, commands[i].help);
        config_describe(commands[i].command, &text);
    }
    buffer_append_text(&text,
                       "\nmayfly routes               list the operations of the Cosmos DB "
                       "API, and which of them are served\n"
                       "mayfly functions            list the functions of the Cosmos DB SQL\n"
                       "mayfly commands             list the commands of the MongoDB protocol\n"
                       "mayfly operators            list the stages and operators of its "
                       "aggregation\n"
                       "mayfly --version | --help\n\nThe server answers over HTTP:\n");
    pages_describe(&text);
    return print_text(&text);
}

/* The page docs/cosmos-coverage.md. */
static int print_routes(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text, "# Operations of the Cosmos DB API\n\n"
                              "Written by `mayfly routes`, from the table that the server itself "
                              "goes by; a test compares them.\n"
                              "A part `*` of a path is a name or a resource id. What is not in the "
                              "table is answered with 400 or 405.\n\n");
    cosmos_describe_routes(&text);
    return print_text(&text);
}

/* The page docs/sql-functions.md. */
static int print_functions(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text,
                       "# Functions of the Cosmos DB SQL\n\n"
                       "Written by `mayfly functions`, from the table that the server itself "
                       "goes by; a test compares them.\n"
                       "Letter case of the names does not matter. A result that is missing is "
                       "what SQL calls undefined: so is\n"
                       "every result for arguments of the wrong kind, unless the sentence says "
                       "otherwise. The last column names the\n"
                       "table of tests/corpus/language/ that asks the function; a test sees to "
                       "it.\nFunctions of one's own (`udf.name`) are not supported: a query that "
                       "calls one is refused with status 501 and told so.\n\n");
    cosmos_describe_functions(&text);
    return print_text(&text);
}

/* The page docs/mongo-commands.md. */
static int print_commands(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text,
                       "# Commands of the MongoDB protocol\n\n"
                       "Written by `mayfly commands`, from the table that the server itself goes "
                       "by; a test compares them.\n"
                       "What is not served is answered with an error that says so; a command that "
                       "is not in the table is unknown.\n\n");
    mongo_describe_commands(&text);
    return print_text(&text);
}

/* The page docs/mongo-operators.md. */
static int print_operators(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text,
                       "# Stages and operators of aggregation\n\n"
                       "Written by `mayfly operators`, from the tables that the server itself goes "
                       "by; a test compares them.\n"
                       "What is not in the tables is refused as unknown. Zones of dates are those "
                       "of the machine's time zone database.\n\n");
    mongo_describe_operators(&text);
    return print_text(&text);
}

/* ---- serve ------------------------------------------------------------------------------------------ */

static int run_serve(struct arena *arena, const struct config *config)
{
    struct house house;
    struct doors doors;

    status s = serve_prepare(config, arena, &doors);
    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    s = house_open(&house, config, COMMAND_SERVE, arena);
    if (s.code != OK) {
        serve_abandon(&doors);
        return fail(EXIT_FAILED, s.message);
    }
    s = serve_until_stopped(&house, config, &doors, arena);
    house_close(&house);
    return s.code == OK ? EXIT_DONE : fail(EXIT_FAILED, s.message);
}

/* ---- check ------------------------------------------------------------------------------------------ */

static void print_violation(void *context, const char *violation)
{
    (void)context;
    printf("violation: %s\n", violation);
}

static int print_summary(const struct check_summary *summary)
{
    printf("collections %" PRIu64 ", documents %" PRIu64 " (and %" PRIu64 " dead, not yet purged), "
           "index rows %" PRIu64 ", rows waiting to be swept %" PRIu64 "\n"
           "%" PRIu64 " violations\n",
           summary->collections, summary->documents, summary->dead_documents, summary->index_rows,
           summary->garbage_rows, summary->violations);
    return summary->violations == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int run_check(struct arena *arena, const struct config *config)
{
    struct check_summary summary = { 0 };
    struct house house;

    status s = house_open(&house, config, COMMAND_CHECK, arena);
    if (s.code != OK)
        return fail(EXIT_USAGE, backup_explain(arena, config->data, s).message);
    s = engine_check(house.engine, print_violation, NULL, &summary);
    house_close(&house);
    if (s.code != OK)
        return fail(EXIT_FAILED, arena_format(arena, "the check could not finish: %s", s.message));
    return print_summary(&summary);
}

/* ---- backup and restore ----------------------------------------------------------------------------- */

static void print_copied(const char *what, const char *path, const struct backup_result *result)
{
    printf("%s %s: %" PRIu64 " files, %.1f MB, of which %.1f MB were copied\n", what, path,
           result->files, (double)result->bytes / 1e6, (double)result->copied_bytes / 1e6);
}

static int run_backup(struct arena *arena, const struct config *config)
{
    const struct clock_source time = clock_source_system();
    const struct backup_order order = { .data = config->data,
                                        .to = config->to,
                                        .now = time.wall_ms(time.context) };
    struct backup_result result;

    status s = backup_make(arena, &order, &result);
    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    if (result.warning)
        fprintf(stderr, "mayfly: warning: %s\n", result.warning);
    print_copied(result.is_of_running_server ? "backup of a running server"
                                             : "backup of a stopped server",
                 result.path, &result);
    return EXIT_DONE;
}

static int run_restore(struct arena *arena, const struct config *config)
{
    const struct restore_order order = { .from = config->from, .to = config->to };
    struct backup_result result;

    status s = backup_restore(arena, &order, &result);
    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    print_copied("restored", config->to, &result);
    printf("from %s; verify with: mayfly check --data %s\n", result.path, config->to);
    return EXIT_DONE;
}

/* ---- export ----------------------------------------------------------------------------------------- */

/* The copy is opened as for a check: nothing is written to it. */
static status export_from(struct arena *arena, const struct config *config, const char *data,
                          struct export_result *out)
{
    struct config source = *config;
    struct house house;

    *out = (struct export_result){ 0 };
    source.data = data;
    TRY(house_open(&house, &source, COMMAND_CHECK, arena));
    const struct export_order order = { .engine = house.engine,
                                        .to = config->to,
                                        .format = config->export_format };
    status s = export_make(arena, &order, out);
    house_close(&house);
    return s;
}

static int run_export(struct arena *arena, const struct config *config)
{
    struct checkpoint_loan loan;
    struct export_result result;

    status s = checkpoint_borrow(arena, config->data, config->to, &loan);
    if (s.code == OK) {
        s = export_from(arena, config, loan.path, &result);
        checkpoint_return(arena, config->data, &loan);
    }
    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    printf("exported to %s: %" PRIu64 " collections, %" PRIu64 " documents, %.1f MB\n", config->to,
           result.collections, result.documents, (double)result.bytes / 1e6);
    return EXIT_DONE;
}

/* ---- import ----------------------------------------------------------------------------------------- */

/* To a server that runs. */
static status send_order(void *context, struct arena *arena, bytes order,
                         struct import_outcome *out)
{
    const struct config *config = context;
    const bool is_collection = import_makes_collection(order);
    bytes reply;

    *out = (struct import_outcome){ 0 };
    if (order.len > LIMIT_HTTP_BODY_BYTES)
        return status_fail(arena, TOO_LARGE,
                           "a document of this size cannot be sent to a server that runs (limit %d "
                           "bytes); stop it and import again",
                           LIMIT_HTTP_BODY_BYTES);
    TRY(control_send(arena, config->data,
                     is_collection ? "/_mayfly/import/collection" : "/_mayfly/import/documents",
                     order, &reply));
    return import_parse(arena, reply, out);
}

static status apply_order(void *context, struct arena *arena, bytes order,
                          struct import_outcome *out)
{
    return import_apply(context, arena, order, out);
}

static status import_running(struct arena *arena, const struct config *config,
                             struct import_counts *out)
{
    const struct import_order order = { .from = config->from,
                                        .existing = config->existing,
                                        .send = send_order,
                                        .context = (void *)(uintptr_t)config };

    return import_make(arena, &order, out);
}

/* The house and, for collections of other programs, the face that knows them. */
static status import_stopped(struct arena *arena, const struct config *config,
                             struct import_counts *out)
{
    struct house house;
    struct mongo *mongo = NULL;

    TRY(import_check(arena, config->from)); /* before a data directory is made */
    TRY(house_open(&house, config, COMMAND_IMPORT, arena));
    const struct mongo_options options = { .engine = house.engine,
                                           .log = &house.log,
                                           .metrics = &house.metrics,
                                           .version = house_version,
                                           .directory = config->data };
    status s = mongo_open(&options, arena, &mongo);
    struct import_site site = { .engine = house.engine, .mongo = mongo };
    const struct import_order order = {
        .from = config->from, .existing = config->existing, .send = apply_order, .context = &site
    };
    if (s.code == OK)
        s = import_make(arena, &order, out);
    mongo_close(mongo);
    house_close(&house);
    return s;
}

static int run_import(struct arena *arena, const struct config *config)
{
    enum { IMPORT_ARENA_BYTES = 512 * 1024 * 1024 };
    struct arena *large = arena_open(IMPORT_ARENA_BYTES); /* documents have their limits */
    struct import_counts counts = { 0 };

    if (!large)
        return fail(EXIT_FAILED, "no memory for an import");
    const bool is_running = control_is_served(arena, config->data);
    status s = is_running ? import_running(large, config, &counts)
                          : import_stopped(large, config, &counts);
    if (s.code != OK)
        fail(EXIT_FAILED, s.message);
    printf("%s %s: %" PRIu64 " new collections, %" PRIu64 " documents, %" PRIu64
           " replaced, %" PRIu64 " kept as they were, %" PRIu64 " already expired, %.1f MB\n",
           s.code == OK ? "imported from" : "stopped in the middle of", config->from,
           counts.collections, counts.written, counts.replaced, counts.kept, counts.expired,
           (double)counts.bytes / 1e6);
    if (counts.skipped > 0)
        printf("%" PRIu64 " system collections were left out\n", counts.skipped);
    arena_close(large);
    return s.code == OK ? EXIT_DONE : EXIT_FAILED;
}

/* ---- the clock -------------------------------------------------------------------------------------- */

static int run_confirm_clock(struct arena *arena, const struct config *config)
{
    status s = control_post(arena, config->data, "/_mayfly/confirm-clock");

    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    printf("the clock is confirmed; what is dead by it is purged from now on\n");
    return EXIT_DONE;
}
