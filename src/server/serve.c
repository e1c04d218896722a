/* Serve: faces, listeners and warnings, wired together.
 *
 * Opening goes upwards (faces, server, listeners), closing the same way back.
 *
 * Threads: only the one that runs main; the server has its own. Start reading at serve_until_stopped(). */
#include "server/serve.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/cosmos/cosmos.h"
#include "front/mongo/mongo.h"
#include "server/server.h"

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

void serve_prepare(const struct config *config)
{
    server_hold_signals();
    raise_descriptor_limit();
    protect_memory(config);
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
                                   .version = house_version,
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
    faces->owner_pages.mongo = faces->mongo;
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

static void say_ready(const struct buffer *ready)
{
    if (!ready->is_failed)
        fwrite(ready->data, 1, ready->len, stdout);
    fflush(stdout);
}

status serve_until_stopped(struct house *house, const struct config *config, struct arena *arena)
{
    struct buffer ready = buffer_in(arena);
    struct faces faces = { 0 };
    struct care care = { .config = config,
                         .log = &house->log,
                         .audit = &house->audit,
                         .audit_fd = house->audit_log.fd,
                         .metrics = &house->metrics,
                         .engine = house->engine,
                         .version = house_version };
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
    log_event(&house->log, LOG_INFO, "server.started", "version=%s pid=%d data=%s", house_version,
              (int)getpid(), config->storage == STORAGE_KIND_MEMORY ? "memory" : config->data);
    log_ring_settle(house->log.ring);
    TRY_GOTO(server_start(faces.server, arena), done);
    say_ready(&ready);
    server_run(faces.server);
done:
    close_faces(&faces);
    if (config->storage != STORAGE_KIND_MEMORY)
        control_remove(config->data);
    return s;
}
