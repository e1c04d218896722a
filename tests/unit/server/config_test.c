/* Options: the command line, the file, the defaults, and what is refused. */
#include "tests/check.h"

#include <stdio.h>

#include "server/server.h"

static struct arena *memory;

struct outcome {
    status status;
    struct config config;
};

/* Reads a command line given as one text with single spaces. */
static struct outcome read_words(enum command command, const char *text)
{
    static char words[1024];
    char *arguments[32];
    size_t count = 0;
    struct outcome outcome;

    snprintf(words, sizeof(words), "%s", text);
    char *rest = words;
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        if (*word)
            arguments[count++] = word;
    }
    arena_close(memory);
    memory = arena_open(1024 * 1024);
    outcome.status = config_read(memory, command, count, arguments, &outcome.config);
    return outcome;
}

static void close_memory(void)
{
    arena_close(memory);
    memory = NULL;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(config, defaults_hold_where_nothing_is_said)
{
    struct outcome got = read_words(COMMAND_SERVE, "");
    char text[ADDRESS_TEXT_BYTES];

    CHECK_OK(got.status);
    CHECK_STRING(got.config.data, "./data");
    address_format(&got.config.cosmos, text);
    CHECK_STRING(text, "127.0.0.1:8081");
    CHECK(got.config.has_mongo);
    address_format(&got.config.mongo, text);
    CHECK_STRING(text, "127.0.0.1:27017");
    CHECK_EQ(got.config.storage, STORAGE_KIND_ROCKSDB, "");
    CHECK_EQ(got.config.log_level, LOG_INFO, "");
    CHECK_EQ(got.config.purger_pause_s, LIMIT_PURGER_PAUSE_S, "");
    CHECK_EQ(got.config.cache_mb, 72, "");
    CHECK(!got.config.has_test_commands);
    CHECK(!got.config.enforces_throughput);
    CHECK(!got.config.tls_certificate && !got.config.tls_key);
    CHECK(!got.config.master_key && !got.config.read_only_key);
    close_memory();
}

TEST(config, a_certificate_comes_with_its_key)
{
    struct outcome got = read_words(COMMAND_SERVE, "--cert c.pem --key=k.pem --enforce-throughput");

    CHECK_OK(got.status);
    CHECK_STRING(got.config.tls_certificate, "c.pem");
    CHECK_STRING(got.config.tls_key, "k.pem");
    CHECK(got.config.enforces_throughput);
    close_memory();
}

TEST(config, a_key_of_ones_own_opens_every_address)
{
    const char master[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const char reader[] = "/////////////////////////////////////////w==";
    char path[256], words[512], text[256];

    check_temp_dir(path, sizeof(path) - 16);
    strncat(path, "/key", sizeof(path) - strlen(path) - 1);
    snprintf(words, sizeof(words), "--cosmos 0.0.0.0:8081 --key-file %s", path);
    write_file(path, master);
    struct outcome got = read_words(COMMAND_SERVE, words);
    CHECK_OK(got.status);
    CHECK_STRING(got.config.master_key, master);
    CHECK(got.config.read_only_key == NULL);
    snprintf(text, sizeof(text), "%s \r\n\n%s\n\n", master, reader);
    write_file(path, text);
    got = read_words(COMMAND_SERVE, words);
    CHECK_OK(got.status);
    CHECK_STRING(got.config.master_key, master);
    CHECK_STRING(got.config.read_only_key, reader);
    close_memory();
}

TEST(config, keys_with_names_are_for_replacing_them)
{
    const char a[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const char b[] = "/////////////////////////////////////////w==";
    char path[256], words[512], text[512];

    check_temp_dir(path, sizeof(path) - 16);
    strncat(path, "/key", sizeof(path) - strlen(path) - 1);
    snprintf(words, sizeof(words), "--key-file %s", path);
    snprintf(text, sizeof(text), "# two\nsecondary=%s\n  primary =  %s\n", a, b);
    write_file(path, text);
    struct outcome got = read_words(COMMAND_SERVE, words);
    CHECK_OK(got.status);
    CHECK_STRING(got.config.key_file, path);
    CHECK_STRING(got.config.master_key, b);
    CHECK_STRING(got.config.secondary_key, a);
    CHECK(!got.config.read_only_key && !got.config.secondary_read_only_key);
    snprintf(text, sizeof(text), "%s\nprimary-read-only = %s\nsecondary-read-only = %s\n", a, b, a);
    write_file(path, text);
    got = read_words(COMMAND_SERVE, words);
    CHECK_OK(got.status);
    CHECK_STRING(got.config.master_key, a);
    CHECK_STRING(got.config.read_only_key, b);
    CHECK_STRING(got.config.secondary_read_only_key, a);
    close_memory();
}

TEST(config, a_bad_key_file_is_refused_without_showing_the_key)
{
    const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"",                                                       "is empty"                               },
        { "\n \n",                                                 "is empty"                               },
        { "c2VjcmV0",                                              "line 1 is not a key"                    },
        { "secret!secret!secret!secret!",                          "line 1 is not a key"                    },
        { "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV",                       "line 1 is not a key"                    },
        { "c2VjcmV0c2VjcmV0c2VjcmV0c2V====",                       "line 1 is not a key"                    },
        { "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\nc2VjcmV0",            "line 2 is not a key"                    },
        { "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n"
          "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n"
          "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n",           "more than two lines"                    },
        { "primary = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n"
          "primary = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n", "line 2 has a key that was there already"},
        { "tertiary = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n",
         "names a key \"tertiary\"; the names are"                                                          },
        { "s3cret = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n",           "line 1 is not a key"                    },
        { "secondary = c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n",        "has no primary key"                     },
    };
    char path[256], words[512];

    check_temp_dir(path, sizeof(path) - 16);
    strncat(path, "/key", sizeof(path) - strlen(path) - 1);
    snprintf(words, sizeof(words), "--key-file %s", path);
    EACH_ROW(rows, r) {
        write_file(path, r->text);
        struct outcome got = read_words(COMMAND_SERVE, words);
        CHECK_EQ(got.status.code, INVALID, "%s", r->text);
        CHECK_THAT(strstr(got.status.message, r->part) != NULL, "%s", got.status.message);
        CHECK(strstr(got.status.message, "c2Vj") == NULL);
        CHECK(strstr(got.status.message, "secret") == NULL);
    }
    close_memory();
}

TEST(config, both_spellings_of_a_value_are_read)
{
    struct outcome got = read_words(COMMAND_SERVE, "--data=/x --storage memory --log-level=error "
                                                   "--purger-pause 5 --cache=300 --test-commands");

    CHECK_OK(got.status);
    CHECK_STRING(got.config.data, "/x");
    CHECK_EQ(got.config.storage, STORAGE_KIND_MEMORY, "");
    CHECK_EQ(got.config.log_level, LOG_ERROR, "");
    CHECK_EQ(got.config.purger_pause_s, 5, "");
    CHECK_EQ(got.config.cache_mb, 300, "");
    CHECK(got.config.has_test_commands);
    CHECK_STRING(read_words(COMMAND_SERVE, "--data a --data b").config.data, "b");
    close_memory();
}

TEST(config, bad_options_are_refused_by_name)
{
    const struct {
        enum command command;
        const char *words;
        status_code want;
        const char *part;
    } rows[] = {
        {COMMAND_SERVE,  "--nonsense 1",                        INVALID,   "nonsense"                   },
        { COMMAND_SERVE, "--log_level info",                    INVALID,   "log_level"                  },
        { COMMAND_SERVE, "stray",                               INVALID,   "stray"                      },
        { COMMAND_SERVE, "--data",                              INVALID,   "--data needs a value"       },
        { COMMAND_SERVE, "--data=",                             INVALID,   "--data"                     },
        { COMMAND_SERVE, "--test-commands=yes",                 INVALID,   "takes no value"             },
        { COMMAND_SERVE, "--storage paper",                     INVALID,   "rocksdb or memory"          },
        { COMMAND_SERVE, "--log-level loud",                    INVALID,   "loud"                       },
        { COMMAND_SERVE, "--purger-pause 0",                    INVALID,   "--purger-pause"             },
        { COMMAND_SERVE, "--purger-pause 1s",                   INVALID,   "--purger-pause"             },
        { COMMAND_SERVE, "--purger-pause 99999999999999999999", INVALID,   "--purger-pause"             },
        { COMMAND_SERVE, "--purger-pause -5",                   INVALID,   "--purger-pause"             },
        { COMMAND_SERVE, "--cache 0",                           INVALID,   "--cache"                    },
        { COMMAND_SERVE, "--cache 1048577",                     INVALID,   "--cache"                    },
        { COMMAND_SERVE, "--cache 1g",                          INVALID,   "--cache"                    },
        { COMMAND_SERVE, "--cache ",                            INVALID,   "--cache"                    },
        { COMMAND_SERVE, "--mongo 27017",                       INVALID,   "--mongo"                    },
        { COMMAND_SERVE, "--mongo=",                            INVALID,   "--mongo"                    },
        { COMMAND_SERVE, "--cosmos 0.0.0.0:8081",               INVALID,
         "head -c 48 /dev/urandom | base64 -w0 > key"                                                   },
        { COMMAND_SERVE, "--cosmos [::]:8081",                  INVALID,   "--key-file"                 },
        { COMMAND_SERVE, "--cosmos 192.168.1.1:8081",           INVALID,   "--key-file"                 },
        { COMMAND_SERVE, "--config /nonexistent/file",          NOT_FOUND, "--config: /nonexistent/file"},
        { COMMAND_SERVE, "--config /tmp",                       IO_ERROR,  "/tmp"                       },
        { COMMAND_SERVE, "--key-file /nonexistent/file",        NOT_FOUND,
         "--key-file: /nonexistent/file"                                                                },
        { COMMAND_SERVE, "--cert c.pem",                        INVALID,   "--cert needs --key"         },
        { COMMAND_SERVE, "--key k.pem",                         INVALID,   "--key-file"                 },
        { COMMAND_CHECK, "--key-file k",                        INVALID,   "key-file"                   },
        { COMMAND_CHECK, "--cosmos 127.0.0.1:1",                INVALID,   "cosmos"                     },
    };
    EACH_ROW(rows, r) {
        struct outcome got = read_words(r->command, r->words);
        CHECK_EQ(got.status.code, r->want, "%s", r->words);
        CHECK_THAT(strstr(got.status.message, r->part) != NULL, "%s: %s", r->words,
                   got.status.message);
    }
    close_memory();
}

TEST(config, none_switches_the_mongo_protocol_off)
{
    struct outcome got = read_words(COMMAND_SERVE, "--mongo none");

    CHECK_OK(got.status);
    CHECK(!got.config.has_mongo);
    CHECK(read_words(COMMAND_SERVE, "--mongo none --mongo 127.0.0.1:0").config.has_mongo);
    close_memory();
}

TEST(config, help_is_seen_before_anything_else_is_checked)
{
    CHECK(read_words(COMMAND_SERVE, "--nonsense --help").config.wants_help);
    CHECK(read_words(COMMAND_CHECK, "-h").config.wants_help);
    close_memory();
}

TEST(config, addresses_are_read_and_written)
{
    const struct {
        const char *text;
        const char *want; /* NULL: refused */
        bool is_loopback;
    } rows[] = {
        {"127.0.0.1:8081",                                                  "127.0.0.1:8081",  true },
        { "127.9.9.9:0",                                                    "127.9.9.9:0",     true },
        { "localhost:65535",                                                "127.0.0.1:65535", true },
        { "[::1]:80",                                                       "[::1]:80",        true },
        { "0.0.0.0:80",                                                     "0.0.0.0:80",      false},
        { "128.0.0.1:80",                                                   "128.0.0.1:80",    false},
        { "[fe80::1]:80",                                                   "[fe80::1]:80",    false},
        { "127.0.0.1",                                                      NULL,              false},
        { "127.0.0.1:",                                                     NULL,              false},
        { ":80",                                                            NULL,              false},
        { "",                                                               NULL,              false},
        { ":",                                                              NULL,              false},
        { "[]:1",                                                           NULL,              false},
        { "[::1:80",                                                        NULL,              false},
        { "[:80",                                                           NULL,              false},
        { "::1:80",                                                         NULL,              false},
        { "127.0.0.1:65536",                                                NULL,              false},
        { "127.0.0.1:-1",                                                   NULL,              false},
        { "127.0.0.1:8x",                                                   NULL,              false},
        { "example.com:80",                                                 NULL,              false},
        { "1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:80", NULL,              false},
    };
    struct arena *arena = arena_open(65536);

    EACH_ROW(rows, r) {
        struct address address;
        char text[ADDRESS_TEXT_BYTES];
        status s = address_parse(arena, r->text, &address);
        CHECK_EQ(s.code, r->want ? OK : INVALID, "%s", r->text);
        if (!r->want)
            continue;
        address_format(&address, text);
        CHECK_STRING(text, r->want);
        CHECK_EQ(address_is_loopback(&address), r->is_loopback, "%s", r->text);
    }
    arena_close(arena);
}

TEST(config, a_file_fills_in_what_the_command_line_leaves_open)
{
    char path[256], words[512];

    check_temp_dir(path, sizeof(path) - 16);
    strncat(path, "/c", sizeof(path) - strlen(path) - 1);
    write_file(path, "# of a test\n\n  data = /from/file # here\nstorage=rocksdb\nstorage=memory\n"
                     "test-commands\r\nlog-level=error");
    snprintf(words, sizeof(words), "--log-level debug --config %s", path);
    struct outcome got = read_words(COMMAND_SERVE, words);
    CHECK_OK(got.status);
    CHECK_STRING(got.config.data, "/from/file");
    CHECK_EQ(got.config.storage, STORAGE_KIND_MEMORY, "the later line wins");
    CHECK_EQ(got.config.log_level, LOG_DEBUG, "the command line wins");
    CHECK(got.config.has_test_commands);
    close_memory();
}

TEST(config, a_bad_line_is_named_with_its_number)
{
    const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"data=/x\nnonsense=1\n",  "line 2"       },
        { "\n\n=1\n",              "line 3"       },
        { "data=\n",               "needs a value"},
        { "test-commands=maybe\n", "true or false"},
        { "config=other\n",        "another"      },
        { "mongo=1\n",             "--mongo"      },
    };
    char path[256], words[512];

    check_temp_dir(path, sizeof(path) - 16);
    strncat(path, "/c", sizeof(path) - strlen(path) - 1);
    snprintf(words, sizeof(words), "--config %s", path);
    EACH_ROW(rows, r) {
        write_file(path, r->text);
        struct outcome got = read_words(COMMAND_SERVE, words);
        CHECK_THAT(got.status.code != OK && strstr(got.status.message, r->part) != NULL, "%s: %s",
                   r->text, got.status.message);
    }
    write_file(path, "test-commands=false\n");
    CHECK(!read_words(COMMAND_SERVE, words).config.has_test_commands);
    close_memory();
}

TEST(config, help_lists_every_option_of_a_command)
{
    struct arena *arena = arena_open(65536);
    struct buffer serve = buffer_in(arena);
    bytes text;

    config_describe(COMMAND_SERVE, &serve);
    buffer_append_byte(&serve, 0);
    CHECK_OK(buffer_finish(&serve, &text));
    CHECK(strstr((const char *)text.data, "--purger-pause SECONDS") != NULL);
    CHECK(strstr((const char *)text.data, "(default 127.0.0.1:8081)") != NULL);
    struct buffer check = buffer_in(arena);
    config_describe(COMMAND_CHECK, &check);
    buffer_append_byte(&check, 0);
    CHECK_OK(buffer_finish(&check, &text));
    CHECK(strstr((const char *)text.data, "--data DIR") != NULL);
    CHECK(strstr((const char *)text.data, "--cosmos") == NULL);
    arena_close(arena);
}
