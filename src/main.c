/* mayfly: the command. Reads the configuration, opens storage and engine, wires the pages to a port; the
 * only file that knows everyone.
 *
 * Opening goes upwards (sweep, storage, clock, engine, server), closing the same way back. Exit codes: 0
 * done, 1 it failed or `check` found something wrong, 2 it was asked for something that cannot be done
 * (a bad option; for `check`, a database that cannot be opened).
 *
 * Threads: only the one that runs main; the server and the engine have their own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "engine/engine.h"
#include "front/cosmos/cosmos.h"
#include "front/mongo/mongo.h"
#include "query/query.h"
#include "server/server.h"
#include "storage/storage.h"

static const char version[] = "0.1.0";

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { MAIN_ARENA_BYTES = 64 * 1024 * 1024 };

/* Everything below the server, open. */
struct house {
    struct log log;
    struct log audit_log; /* fd -1: there is no file of its own */
    struct audit audit;
    struct metrics metrics;
    struct engine_sweep *sweep;
    struct clock *clock;
    struct engine *engine;
};

static int run(struct arena *arena, size_t argument_count, char *const *arguments);
static int run_serve(struct arena *arena, const struct config *config);
static int run_check(struct arena *arena, const struct config *config);
static int run_backup(struct arena *arena, const struct config *config);
static int run_confirm_clock(struct arena *arena, const struct config *config);
static int run_export(struct arena *arena, const struct config *config);
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
    return code;
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
        printf("mayfly %s\n", version);
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
                       "otherwise.\n\n");
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

/* ---- the house -------------------------------------------------------------------------------------- */

static void house_close(struct house *house)
{
    if (house->engine)
        engine_close(house->engine);
    if (house->clock)
        clock_close(house->clock);
    if (house->sweep)
        engine_sweep_close(house->sweep);
    log_ring_close(house->log.ring);
    if (house->audit_log.fd >= 0)
        close(house->audit_log.fd);
}

/* After the storage, which takes only an empty directory as a new one: the file may lie in it. */
static status open_audit(struct house *house, const struct config *config, struct arena *arena)
{
    house->audit.log = &house->log;
    if (!config->audit_file)
        return STATUS_OK;
    house->audit.alarm = &house->log;
    house->audit.log = &house->audit_log;
    house->audit_log.level = LOG_INFO;
    return care_open_audit(arena, config->audit_file, &house->audit_log.fd);
}

static status open_storage(struct house *house, const struct config *config, enum command command,
                           struct arena *arena, struct storage **out)
{
    struct storage_options options = {
        .path = config->data,
        .log = &house->log,
        .metrics = &house->metrics,
        .sweeper = engine_sweeper(house->sweep),
        .must_exist = command == COMMAND_CHECK,
        .is_read_only = command == COMMAND_CHECK,
    };

    if (config->storage == STORAGE_KIND_MEMORY)
        return storage_open_memory(&options, out);
    return storage_open_rocksdb(&options, arena, out);
}

/* On failure everything is closed again. */
static status house_open(struct house *house, const struct config *config, enum command command,
                         struct arena *arena)
{
    struct storage *storage = NULL;
    status s = status_of(OUT_OF_MEMORY, "no memory to open the database");

    *house = (struct house){ .log = log_to(STDERR_FILENO, config->log_level),
                             .audit_log = { .fd = -1 } };
    house->log.ring = log_ring_open();
    house->sweep = engine_sweep_open();
    house->clock = clock_open(clock_source_system(), LIMIT_CLOCK_LEAP_MS);
    if (!house->sweep || !house->clock || !house->log.ring)
        goto done;
    TRY_GOTO(open_storage(house, config, command, arena, &storage), done);
    TRY_GOTO(open_audit(house, config, arena), done);
    struct engine_options options = {
        .clock = house->clock,
        .log = &house->log,
        .metrics = &house->metrics,
        .is_read_only = command == COMMAND_CHECK,
        .predicate = mongo_index_predicate,
        .extract = query_index_values,
        .purger_pause_s = config->purger_pause_s,
    };
    TRY_GOTO(engine_open(storage, house->sweep, &options, arena, &house->engine), done);
    return STATUS_OK;
done:
    if (storage)
        storage_close(storage);
    house_close(house);
    return s;
}

/* ---- serve ------------------------------------------------------------------------------------------ */

/* Connections and RocksDB's files both need descriptors; the usual soft limit is for shells. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Keys and documents stay out of core dumps and of other processes of the same user, and nothing that is run
 * from here may become somebody else. */
static void protect_memory(const struct config *config)
{
    if (!config->has_core_dumps)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* The server's own pages and the face share a port. */
struct port {
    struct pages pages;
    struct cosmos *face;
};

static enum http_answer answer(void *context, struct http_exchange *exchange)
{
    struct port *port = context;

    if (pages_knows(exchange->request->path))
        return pages_handle(&port->pages, exchange);
    return cosmos_handle(port->face, exchange);
}

static struct http_reply refuse(void *context, struct arena *arena, struct http_refusal refusal)
{
    struct port *port = context;

    return cosmos_refuse(port->face, arena, refusal);
}

static status open_tls(const struct config *config, struct arena *arena, struct tls **out)
{
    struct certificate certificate;
    char path[PATH_MAX];

    *out = NULL;
    TRY(care_find_certificate(config, arena, &certificate));
    TRY(tls_open(arena, &certificate, out));
    if (certificate.path)
        printf("mayfly certificate %s\n",
               realpath(certificate.path, path) ? path : certificate.path);
    return STATUS_OK;
}

/* The faces, on their way from opened to served. */
struct faces {
    struct port port;
    struct http_service service;
    struct pages owner_pages;
    struct http_service owner_service;
    struct mongo *mongo; /* NULL: not served */
    struct tls *tls;
    struct server *server;
};

static status open_faces(struct house *house, const struct config *config, struct arena *arena,
                         struct faces *faces)
{
    struct cosmos_options cosmos = { .engine = house->engine,
                                     .log = &house->log,
                                     .metrics = &house->metrics,
                                     .machine_time = clock_source_system(),
                                     .master_key = config->master_key,
                                     .read_only_key = config->read_only_key,
                                     .secondary_key = config->secondary_key,
                                     .secondary_read_only_key = config->secondary_read_only_key,
                                     .audit = &house->audit,
                                     .enforces_throughput = config->enforces_throughput };
    struct mongo_options mongo = { .engine = house->engine,
                                   .log = &house->log,
                                   .metrics = &house->metrics,
                                   .audit = &house->audit,
                                   .set_name = config->set_name,
                                   .version = version,
                                   .directory = config->data,
                                   .has_test_commands = config->has_test_commands };

    faces->port.pages = (struct pages){ .engine = house->engine,
                                        .audit = &house->audit,
                                        .has_test_commands = config->has_test_commands };
    faces->service = (struct http_service){
        .handler = answer, .refuser = refuse, .handler_context = &faces->port, .clock = house->clock
    };
    faces->owner_pages = (struct pages){ .engine = house->engine,
                                         .audit = &house->audit,
                                         .is_for_owner = true,
                                         .directory = config->data };
    faces->owner_service = (struct http_service){ .handler = pages_handle,
                                                  .handler_context = &faces->owner_pages,
                                                  .clock = house->clock };
    TRY(cosmos_open(&cosmos, arena, &faces->port.face));
    config_wipe_keys(config);
    if (config->has_mongo)
        TRY(mongo_open(&mongo, arena, &faces->mongo));
    return open_tls(config, arena, &faces->tls);
}

static void close_faces(struct faces *faces)
{
    if (faces->server)
        server_close(faces->server);
    if (faces->tls)
        tls_close(faces->tls);
    mongo_close(faces->mongo);
    cosmos_close(faces->port.face);
}

/* Clients connect to the address that the server names. One that listens everywhere is known to others by
 * the name of its machine. */
static status announce(struct mongo *face, const char *text)
{
    char host[HOST_NAME_MAX + 1] = "", address[sizeof(host) + ADDRESS_TEXT_BYTES];
    bool is_everywhere = strncmp(text, "0.0.0.0:", 8) == 0 || strncmp(text, "[::]:", 5) == 0;

    if (!is_everywhere || gethostname(host, sizeof(host) - 1) != 0)
        return mongo_announce(face, text);
    snprintf(address, sizeof(address), "%s%s", host, strrchr(text, ':'));
    return mongo_announce(face, address);
}

/* Whoever has the port already is seldom known; what to do about it is. */
static status listen_one(struct server *server, struct arena *arena, const struct address *address,
                         struct offer offer, const char *option, struct address *actual_out)
{
    status s = server_listen(server, arena, address, offer, actual_out);

    if (s.code != EXISTS)
        return s;
    return status_fail(arena, EXISTS,
                       "%s; another server has it: stop that one, or say %s 127.0.0.1:0 for a free "
                       "port%s",
                       s.message, option,
                       strcmp(option, "--mongo") == 0 ? ", or --mongo none for no MongoDB protocol"
                                                      : "");
}

/* A server without it serves all the same; only backups of it have to wait for its end. */
static void listen_to_owner(struct faces *faces, const struct config *config,
                            const struct house *house, struct arena *arena)
{
    struct offer offer = { .protocol = http_protocol(), .context = &faces->owner_service };
    struct address address, actual;
    int fd;

    if (config->storage == STORAGE_KIND_MEMORY)
        return;
    checkpoint_clear(arena, config->data);
    status s = control_prepare(arena, config->data, &address, &fd);
    if (s.code == OK) {
        s = server_listen(faces->server, arena, &address, offer, &actual);
        close(fd);
    }
    if (s.code != OK)
        log_event(&house->log, LOG_WARNING, "control.unavailable",
                  "reason=\"%s\" without=\"backups while the server runs\"", s.message);
}

/* Says where clients come in, which with port 0 nobody knows before. */
static status listen_all(struct faces *faces, const struct config *config, struct arena *arena,
                         struct buffer *ready)
{
    struct offer http = { .protocol = http_protocol(),
                          .context = &faces->service,
                          .tls = faces->tls };
    struct offer mongo = { .protocol = mongo_protocol(),
                           .context = faces->mongo,
                           .tls = faces->tls };
    struct address actual;
    char text[ADDRESS_TEXT_BYTES];

    TRY(listen_one(faces->server, arena, &config->cosmos, http, "--cosmos", &actual));
    address_format(&actual, text);
    buffer_append_format(ready, "mayfly ready cosmos=http://%s", text);
    if (faces->mongo) {
        TRY(listen_one(faces->server, arena, &config->mongo, mongo, "--mongo", &actual));
        address_format(&actual, text);
        TRY(announce(faces->mongo, text));
        buffer_append_format(ready, " mongo=mongodb://%s", text);
    }
    buffer_append_text(ready, "\n");
    return STATUS_OK;
}

static bool is_open_to_others(const char *directory)
{
    struct stat info;

    return stat(directory, &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

/* What clients should know who ask for the warnings of the start. */
static void warn_of_start(const struct house *house, const struct config *config,
                          const struct faces *faces)
{
    if (faces->mongo && !address_is_loopback(&config->mongo) && !mongo_has_users(faces->mongo))
        log_event(
            &house->log, LOG_WARNING, "mongo.no_users",
            "there are no users yet, so clients from other machines are refused; make one with "
            "createUser on this machine");
    if (geteuid() == 0)
        log_event(&house->log, LOG_WARNING, "server.root",
                  "runs as root, which it needs for nothing; give it a user of its own");
    if (config->storage != STORAGE_KIND_MEMORY && is_open_to_others(config->data))
        log_event(&house->log, LOG_WARNING, "directory.open",
                  "others can look into %s; chmod 700 keeps them out", config->data);
    care_warn_of_open_files(config, &house->log);
    if (config->storage == STORAGE_KIND_MEMORY)
        log_event(&house->log, LOG_WARNING, "storage.memory",
                  "all data is in memory and will be gone when the server stops");
    if (config->has_test_commands)
        log_event(&house->log, LOG_WARNING, "commands.test",
                  "commands for tests are served, with which clients make others fail");
}

static status serve_until_stopped(struct house *house, const struct config *config,
                                  struct arena *arena)
{
    struct buffer ready = buffer_in(arena);
    struct faces faces = { 0 };
    struct care care = { .config = config,
                         .log = &house->log,
                         .audit = &house->audit,
                         .audit_fd = house->audit_log.fd,
                         .metrics = &house->metrics,
                         .engine = house->engine,
                         .version = version };
    status s;

    TRY_GOTO(open_faces(house, config, arena, &faces), done);
    warn_of_start(house, config, &faces);
    TRY_GOTO(server_open(&house->log, &house->metrics, arena, &faces.server), done);
    care.face = faces.port.face;
    care.tls = faces.tls;
    server_set_care(faces.server,
                    (struct server_care){ care_reload, care_report, care_tidy, &care });
    TRY_GOTO(listen_all(&faces, config, arena, &ready), done);
    listen_to_owner(&faces, config, house, arena);
    log_event(&house->log, LOG_INFO, "server.started", "version=%s pid=%d data=%s", version,
              (int)getpid(), config->storage == STORAGE_KIND_MEMORY ? "memory" : config->data);
    log_ring_settle(house->log.ring);
    TRY_GOTO(server_start(faces.server, arena), done);
    print_text(&ready);
    fflush(stdout);
    server_run(faces.server);
done:
    close_faces(&faces);
    if (config->storage != STORAGE_KIND_MEMORY)
        control_remove(config->data);
    return s;
}

static int run_serve(struct arena *arena, const struct config *config)
{
    struct house house;

    server_hold_signals();
    raise_descriptor_limit();
    protect_memory(config);
    status s = house_open(&house, config, COMMAND_SERVE, arena);
    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    s = serve_until_stopped(&house, config, arena);
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

/* ---- the clock -------------------------------------------------------------------------------------- */

static int run_confirm_clock(struct arena *arena, const struct config *config)
{
    status s = control_post(arena, config->data, "/_mayfly/confirm-clock");

    if (s.code != OK)
        return fail(EXIT_FAILED, s.message);
    printf("the clock is confirmed; what is dead by it is purged from now on\n");
    return EXIT_DONE;
}
