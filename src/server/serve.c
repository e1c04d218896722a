/* Serve: faces, listeners and warnings, wired together.
 *
 * Addresses are bound first, while that may still be done as root and before the data are opened; until the server takes
 * them, clients are told that it starts. Opening goes upwards (faces, server, listeners), closing the same way back.
 *
 * Threads: only the one that runs main; the server has its own. Start reading at serve_until_stopped(). */
#include "server/serve.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

static void close_doors(struct doors *doors)
{
    starting_close(doors->starting);
    if (doors->cosmos_fd >= 0)
        close(doors->cosmos_fd);
    if (doors->mongo_fd >= 0)
        close(doors->mongo_fd);
    doors->starting = NULL;
    doors->cosmos_fd = doors->mongo_fd = -1;
}

/* Whoever has the port already is seldom known; what to do about it is. */
static status bind_one(struct arena *arena, const struct address *address, const char *option,
                       struct address *actual_out, int *fd_out)
{
    status s = server_bind(arena, address, actual_out, fd_out);

    if (s.code != EXISTS)
        return s;
    return status_fail(arena, EXISTS,
                       "%s; another server has it: stop that one, or say %s 127.0.0.1:0 for a free "
                       "port%s",
                       s.message, option,
                       strcmp(option, "--mongo") == 0 ? ", or --mongo none for no MongoDB protocol"
                                                      : "");
}

/* While there is no other thread, which would have to be reached. A kernel without it is told of, and served all the
 * same. */
static void close_calls(const struct config *config, struct arena *arena, struct doors *doors)
{
    status s = config->has_no_call_filter ? STATUS_OK : guard_calls(arena);

    if (s.code != OK)
        doors->unfiltered = s.message;
}

static status open_doors(const struct config *config, struct arena *arena, struct doors *doors)
{
    TRY(bind_one(arena, &config->cosmos, "--cosmos", &doors->cosmos, &doors->cosmos_fd));
    if (config->has_mongo)
        TRY(bind_one(arena, &config->mongo, "--mongo", &doors->mongo, &doors->mongo_fd));
    if (config->user)
        TRY(guard_become(arena, config->user));
    guard_memory(config->has_core_dumps); /* last, because who becomes another loses it */
    close_calls(config, arena, doors);
    return starting_open(arena, doors->cosmos_fd, &doors->starting);
}

status serve_prepare(const struct config *config, struct arena *arena, struct doors *doors)
{
    *doors = (struct doors){ .cosmos_fd = -1, .mongo_fd = -1 };
    server_hold_signals();
    raise_descriptor_limit();
    tls_prepare();
    status s = open_doors(config, arena, doors);
    if (s.code != OK)
        close_doors(doors);
    return s;
}

void serve_abandon(struct doors *doors)
{
    close_doors(doors);
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
    status s = tls_open(arena, &certificate, out);
    certificate_wipe(&certificate);
    TRY(s);
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
static status take_doors(struct faces *faces, struct doors *doors, struct buffer *ready)
{
    struct offer http = { .protocol = http_protocol(),
                          .context = &faces->service,
                          .tls = faces->tls };
    struct offer mongo = { .protocol = mongo_protocol(),
                           .context = faces->mongo,
                           .tls = faces->tls };
    char text[ADDRESS_TEXT_BYTES];

    starting_close(doors->starting);
    doors->starting = NULL;
    server_take(faces->server, doors->cosmos_fd, http);
    doors->cosmos_fd = -1;
    address_format(&doors->cosmos, text);
    buffer_append_format(ready, "mayfly ready cosmos=http://%s", text);
    if (faces->mongo) {
        server_take(faces->server, doors->mongo_fd, mongo);
        doors->mongo_fd = -1;
        address_format(&doors->mongo, text);
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
                          const struct doors *doors, const struct faces *faces)
{
    if (doors->unfiltered)
        log_event(&house->log, LOG_WARNING, "calls.unfiltered", "reason=\"%s\"", doors->unfiltered);
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

status serve_until_stopped(struct house *house, const struct config *config, struct doors *doors,
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
                         .version = house_version };
    status s;

    TRY_GOTO(open_faces(house, config, arena, &faces), done);
    warn_of_start(house, config, doors, &faces);
    TRY_GOTO(server_open(&house->log, &house->metrics, arena, &faces.server), done);
    care.face = faces.port.face;
    care.tls = faces.tls;
    server_set_care(faces.server,
                    (struct server_care){ care_reload, care_report, care_tidy, &care });
    TRY_GOTO(take_doors(&faces, doors, &ready), done);
    listen_to_owner(&faces, config, house, arena);
    log_event(&house->log, LOG_INFO, "server.started", "version=%s pid=%d data=%s", house_version,
              (int)getpid(), config->storage == STORAGE_KIND_MEMORY ? "memory" : config->data);
    log_ring_settle(house->log.ring);
    TRY_GOTO(server_start(faces.server, arena), done);
    say_ready(&ready);
    server_run(faces.server);
done:
    close_doors(doors);
    close_faces(&faces);
    if (config->storage != STORAGE_KIND_MEMORY)
        control_remove(config->data);
    return s;
}
