/* Tests of crashes: see crash.h. The functions of the disk that forgets are looked up by their names, because they are there only
 * if it was loaded. */
#include "tests/support/crash.h"

#include <dlfcn.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

/* A function of the library that was loaded before, or NULL. */
static void *of_library(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* ---- begin and end ------------------------------------------------------------------------------------ */

static uint64_t number_from(const char *text, uint64_t otherwise)
{
    const uint64_t number = text != NULL ? strtoull(text, NULL, 10) : 0;
    return number > 0 ? number : otherwise;
}

void crash_begin(struct crash *crash, int argc, char **argv, uint64_t rounds)
{
    void (*watch)(const char *) = (void (*)(const char *))of_library("power_watch");
    const char *base = getenv("TMPDIR");

    crash->rounds = number_from(argc > 1 ? argv[1] : getenv("ROUNDS"), rounds);
    crash->first_seed = number_from(getenv("SEED"), 1);
    snprintf(crash->path, sizeof(crash->path), "%s/mayfly-%s-XXXXXX", base != NULL ? base : "/tmp",
             crash->name);
    CHECK(mkdtemp(crash->path) != NULL);
    if (watch != NULL)
        watch(crash->path);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

int crash_end(struct crash *crash, uint64_t passed, bool is_sound)
{
    if (is_sound) {
        nftw(crash->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        strncat(crash->path, ".power",
                sizeof(crash->path) - strlen(crash->path) - 1); /* of the library, if it is there */
        nftw(crash->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    printf("%" PRIu64 " passed, %d failed\n", passed, is_sound ? 0 : 1);
    return is_sound ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- processes ---------------------------------------------------------------------------------------- */

pid_t crash_fork(int *pipe_end_out)
{
    int ends[2];

    fflush(NULL);
    CHECK_EQ(pipe(ends), 0, "");
    const pid_t child = fork();
    CHECK(child >= 0);
    close(ends[child == 0 ? 0 : 1]);
    *pipe_end_out = ends[child == 0 ? 1 : 0];
    return child;
}

void crash_kill(pid_t child)
{
    void (*hold)(void) = (void (*)(void))of_library("power_hold");

    if (hold != NULL)
        hold();
    kill(child, SIGKILL);
}

bool crash_was_killed(const struct crash *crash, pid_t child, uint64_t seed)
{
    int ending = 0;

    waitpid(child, &ending, 0);
    if (WIFSIGNALED(ending) && WTERMSIG(ending) == SIGKILL)
        return true;
    fprintf(stderr,
            "FAIL a process ended by itself (status %d), replay with SEED=%" PRIu64
            ", data kept in %s\n",
            ending, seed, crash->path);
    return false;
}

/* ---- power -------------------------------------------------------------------------------------------- */

bool crash_has_power(void)
{
    return of_library("power_cut") != NULL;
}

unsigned crash_cut_power(uint64_t seed)
{
    unsigned (*cut)(uint64_t) = (unsigned (*)(uint64_t))of_library("power_cut");
    return cut != NULL ? cut(seed) : 0;
}

void crash_sync_names_with_files(bool is_so)
{
    void (*call)(bool) = (void (*)(bool))of_library("power_sync_names_with_files");
    if (call != NULL)
        call(is_so);
}

void crash_end_behind(unsigned moves, unsigned calls)
{
    void (*call)(unsigned, unsigned) = (void (*)(unsigned, unsigned))of_library("power_end_behind");
    if (call != NULL)
        call(moves, calls);
}
