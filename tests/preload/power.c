/* Power: a disk that forgets what was not synced, for tests of crashes.
 *
 *     LD_PRELOAD=.../power.so crash-kill9 ...
 *
 * A killed process loses nothing that it wrote: the kernel has it. A machine that loses power does. This library
 * stands between a program and the calls that make bytes durable. It notes how much of each file in one directory was
 * synced, and which names; the kernel is never asked to sync, which makes it fast. When the power is cut, everything
 * else may be lost, by chance:
 *
 *   bytes behind the last sync of a file     cut off anywhere, and sectors of what is left are zeros
 *   a file whose name was not synced         gone
 *   a rename since the directory was synced  undone
 *   a file removed since then                back again
 *
 * What it cannot do: undo bytes that were written over synced ones, unless those were zeros ahead of the writer.
 *
 * The notes are in memory that processes share after a fork, and survive whoever is killed. Names are kept without
 * their directory. Threads: any; a spin lock, which the one who kills the others holds meanwhile, so that nobody dies with half of
 * the names noted, and which the one who cuts the power opens by force. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096, NAME_BYTES = 64, SECTOR_BYTES = 512 };

/* What is known of one name. */
struct note {
    char name[NAME_BYTES]; /* empty: free */
    off_t synced_bytes;
    bool is_name_synced;
    /* Something stood under this name when the directory was last synced and is not there any more: it is kept in
     * the side directory under the same name. */
    bool is_kept;
};

struct power {
    atomic_flag lock;
    char directory[PATH_MAX];
    char side[PATH_MAX + 8];
    struct note notes[FILES_MAX];
};

/* The program looks these up. */
void power_watch(const char *directory);
void power_hold(void);
unsigned power_cut(uint64_t seed);

static struct power *shared(void)
{
    static struct power *power;

    if (!power) {
        power = mmap(NULL, sizeof(*power), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        if (power == MAP_FAILED)
            abort();
    }
    return power;
}

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

static void lock_notes(struct power *power)
{
    while (atomic_flag_test_and_set(&power->lock))
        sched_yield();
}

static void unlock_notes(struct power *power)
{
    atomic_flag_clear(&power->lock);
}

/* The name inside the watched directory, or NULL. */
static const char *name_inside(const struct power *power, const char *path)
{
    const size_t len = strlen(power->directory);
    const char *name = path + len;

    if (len == 0 || strncmp(path, power->directory, len) != 0 || *name != '/')
        return NULL;
    while (*name == '/')
        name++;
    return *name == '\0' || strchr(name, '/') || strlen(name) >= NAME_BYTES ? NULL : name;
}

static struct note *find_note(struct power *power, const char *name, bool makes)
{
    struct note *free_note = NULL;

    for (size_t i = 0; i < FILES_MAX; i++) {
        if (strcmp(power->notes[i].name, name) == 0)
            return &power->notes[i];
        if (!free_note && power->notes[i].name[0] == '\0')
            free_note = &power->notes[i];
    }
    if (!makes)
        return NULL;
    if (!free_note)
        abort();
    *free_note = (struct note){ 0 };
    snprintf(free_note->name, NAME_BYTES, "%s", name);
    return free_note;
}

static void path_of(const char *directory, const char *name, char out[2 * PATH_MAX])
{
    snprintf(out, 2 * PATH_MAX, "%s/%s", directory, name);
}

static int really_unlink(const char *path)
{
    int (*call)(const char *) = (int (*)(const char *))real("unlink");

    return call(path);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static void forget_kept(struct power *power, struct note *note)
{
    char path[2 * PATH_MAX];

    if (!note->is_kept)
        return;
    path_of(power->side, note->name, path);
    really_unlink(path);
    note->is_kept = false;
}

/* Before `name` goes or is replaced: what was synced under it may come back. */
static void keep(struct power *power, const char *name)
{
    struct note *note = find_note(power, name, false);
    char from[2 * PATH_MAX], to[2 * PATH_MAX];

    if (!note || !note->is_name_synced || note->is_kept)
        return;
    path_of(power->directory, name, from);
    path_of(power->side, name, to);
    note->is_kept = link(from, to) == 0;
}

/* The directory was synced: what is in it stays, what is not in it stays away. */
static void sync_names(struct power *power)
{
    DIR *stream = opendir(power->directory);
    const struct dirent *entry;

    for (size_t i = 0; i < FILES_MAX; i++) {
        if (power->notes[i].name[0] != '\0') {
            forget_kept(power, &power->notes[i]);
            power->notes[i].is_name_synced = false;
        }
    }
    while (stream && (entry = readdir(stream)) != NULL) {
        if (entry->d_type == DT_REG && strlen(entry->d_name) < NAME_BYTES)
            find_note(power, entry->d_name, true)->is_name_synced = true;
    }
    if (stream)
        closedir(stream);
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (power->notes[i].name[0] != '\0' && !power->notes[i].is_name_synced)
            power->notes[i] = (struct note){ 0 };
    }
}

/* ---- the calls -------------------------------------------------------------------------------------- */

static int note_sync(int fd)
{
    struct power *power = shared();
    char link_path[64], path[PATH_MAX];
    struct stat info;

    if (power->directory[0] == '\0' || fstat(fd, &info) != 0)
        return 0;
    snprintf(link_path, sizeof(link_path), "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link_path, path, sizeof(path) - 1);
    if (len <= 0)
        return 0;
    path[len] = '\0';
    /* A log may have zeros behind its end, to be written over: only what lies before the writer counts. */
    const off_t at = lseek(fd, 0, SEEK_CUR);
    const off_t end = at > 0 && at < info.st_size ? at : info.st_size;
    lock_notes(power);
    const char *name = name_inside(power, path);
    if (strcmp(path, power->directory) == 0) {
        sync_names(power);
    } else if (name && S_ISREG(info.st_mode)) {
        struct note *note = find_note(power, name, true);
        if (note->synced_bytes < end)
            note->synced_bytes = end;
    }
    unlock_notes(power);
    return 0;
}

int fsync(int fd)
{
    return note_sync(fd);
}

int fdatasync(int fd)
{
    return note_sync(fd);
}

int unlink(const char *path)
{
    struct power *power = shared();

    lock_notes(power);
    const char *name = name_inside(power, path);
    if (name)
        keep(power, name);
    unlock_notes(power);
    return really_unlink(path);
}

int rename(const char *from, const char *to)
{
    struct power *power = shared();
    int (*call)(const char *, const char *) = (int (*)(const char *, const char *))real("rename");

    lock_notes(power);
    const char *old = name_inside(power, from), *fresh = name_inside(power, to);
    if (old && fresh) {
        struct note *note = find_note(power, old, false);
        const off_t synced_bytes = note ? note->synced_bytes : 0;
        keep(power, fresh);
        struct note *target = find_note(power, fresh, true);
        target->synced_bytes = synced_bytes;
        if (!target->is_kept)
            target->is_name_synced = false;
        if (note && note != target && !note->is_name_synced)
            *note = (struct note){ 0 };
    } else if (old) {
        keep(power, old); /* it may be back, with what becomes of it elsewhere */
    }
    unlock_notes(power);
    return call(from, to);
}

/* ---- the cut ---------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Bytes behind the last sync, whichever have reached the disk. */
static void tear(const char *path, off_t synced_bytes, off_t size, uint64_t *state)
{
    static const char zeros[SECTOR_BYTES];
    const off_t left = synced_bytes + (off_t)(draw(state) % (uint64_t)(size - synced_bytes + 1));
    const bool is_torn = draw(state) % 2 == 0;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || ftruncate(fd, left) != 0)
        abort();
    for (off_t at = synced_bytes; is_torn && at < left;) {
        const off_t end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        const size_t len = (size_t)((end < left ? end : left) - at);
        if (draw(state) % 4 == 0 && pwrite(fd, zeros, len, at) != (ssize_t)len)
            abort();
        at += (off_t)len;
    }
    close(fd);
}

/* True if something was lost. */
static bool cut_file(struct power *power, const char *name, uint64_t *state)
{
    const struct note *note = find_note(power, name, false);
    const bool is_there = note && note->is_name_synced && !note->is_kept;
    const off_t synced_bytes = note ? note->synced_bytes : 0;
    char path[2 * PATH_MAX], kept[2 * PATH_MAX];
    struct stat info;

    path_of(power->directory, name, path);
    path_of(power->side, name, kept);
    if (note && note->is_kept && draw(state) % 2 == 0) {
        int (*call)(const char *,
                    const char *) = (int (*)(const char *, const char *))real("rename");
        return call(kept, path) == 0; /* whatever is there is the older one again, whole */
    }
    if (stat(path, &info) != 0)
        return false;
    if (!is_there && !(note && note->is_kept) && draw(state) % 2 == 0)
        return really_unlink(path) == 0;
    if (info.st_size > synced_bytes)
        tear(path, synced_bytes, info.st_size, state);
    return info.st_size > synced_bytes;
}

void power_watch(const char *directory)
{
    struct power *power = shared();
    char resolved[PATH_MAX];

    mkdir(directory, 0700);
    if (!realpath(directory, resolved))
        abort();
    snprintf(power->directory, sizeof(power->directory), "%s", resolved);
    snprintf(power->side, sizeof(power->side), "%s.power", resolved);
    mkdir(power->side, 0700);
}

/* Before everybody who writes is killed. Who has died by himself may have had the lock, so it is not waited for long. */
void power_hold(void)
{
    enum { TRIES_MAX = 1 << 20 };
    struct power *power = shared();

    for (int i = 0; i < TRIES_MAX && atomic_flag_test_and_set(&power->lock); i++)
        sched_yield();
}

/* Everybody who wrote has been killed. Returns how many files have lost something. */
unsigned power_cut(uint64_t seed)
{
    struct power *power = shared();
    uint64_t state = seed;
    unsigned lost = 0;
    char(*names)[NAME_BYTES] = calloc(2 * FILES_MAX, NAME_BYTES);
    size_t count = 0;
    DIR *stream = opendir(power->directory);
    const struct dirent *entry;

    unlock_notes(power);
    while (stream && (entry = readdir(stream)) != NULL && count < FILES_MAX) {
        if (entry->d_type == DT_REG && strlen(entry->d_name) < NAME_BYTES)
            memcpy(names[count++], entry->d_name, strlen(entry->d_name) + 1);
    }
    if (stream)
        closedir(stream);
    for (size_t i = 0; i < FILES_MAX; i++) {
        char path[2 * PATH_MAX];
        path_of(power->directory, power->notes[i].name, path);
        if (power->notes[i].is_kept && access(path, F_OK) != 0)
            snprintf(names[count++], NAME_BYTES, "%s", power->notes[i].name);
    }
    for (size_t i = 0; i < count; i++)
        lost += cut_file(power, names[i], &state);
    free(names);
    /* From now on all that is there has been there. */
    sync_names(power);
    for (size_t i = 0; i < FILES_MAX; i++) {
        char path[2 * PATH_MAX];
        struct stat info;
        path_of(power->directory, power->notes[i].name, path);
        if (power->notes[i].name[0] != '\0' && stat(path, &info) == 0)
            power->notes[i].synced_bytes = info.st_size;
    }
    return lost;
}
