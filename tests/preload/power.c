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
 *   a file moved to a directory below        back again, as it is now
 *   what was overwritten there               as it was before, in parts, wherever the file is then
 *
 * A file that may be back must be whole then: who changes one in a directory below before its move was synced is stopped.
 *
 * A log may have zeros behind its end, to be written over, so its length does not say what a sync was for. What pwrite() puts there does;
 * a write that was begun (io_submit) counts, and is done at all, only when it is waited for (io_getevents), because until then a
 * sync need not be for it. The kernel itself would end it even for a process that was killed.
 *
 * What it cannot do: undo bytes that were written over synced ones in the directory itself, unless those were zeros ahead of
 * the writer.
 *
 * Two things can be asked for. That the sync of a new file makes its name durable, too, and that of one moved here does not, and that the
 * file system says so by being called btrfs, where RocksDB relies on it. And that the process comes to its end behind so many moves
 * between directories, because the instants there are too short to be met by chance.
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
#include <linux/aio_abi.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    FILES_MAX = 4096,
    NAME_BYTES = 64,
    SECTOR_BYTES = 512,
    /* So many zeros a commit may end with, and few next ones are that short. */
    OWN_ZEROS_MAX = 64,
    /* Files with overwritten bytes, and in what pieces those are as before. */
    OVERWRITTEN_MAX = 64,
    PIECE_BYTES = 64 << 10,
};

/* What is known of one name. */
struct note {
    char name[NAME_BYTES]; /* empty: free */
    off_t synced_bytes;
    off_t written_bytes; /* of a log, zeros behind its end aside */
    bool is_name_synced;
    /* Something stood under this name when the directory was last synced and is not there any more: it is kept in
     * the side directory under the same name. */
    bool is_kept;
    /* It was moved to a directory below since then: what the system knows it by; 0: it was not. */
    ino_t moved;
    /* It came from there since then, so long. */
    bool is_moved_in;
    off_t moved_in_bytes;
};

struct power {
    atomic_flag lock;
    char directory[PATH_MAX];
    char side[PATH_MAX + 8];
    struct note notes[FILES_MAX];
    /* What these files held before they were overwritten lies in the side directory. */
    ino_t overwritten[OVERWRITTEN_MAX];
    bool are_names_synced_with_files;
    struct {
        bool is_wanted, is_there;
        unsigned moves, calls;
    } end;
};

/* The program looks these up. */
void power_watch(const char *directory);
void power_hold(void);
void power_sync_names_with_files(bool is_so);
void power_end_behind(unsigned moves, unsigned calls);
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

/* Is it a file in a directory below? */
static bool is_below(const struct power *power, const char *path)
{
    const size_t len = strlen(power->directory);

    return len > 0 && strncmp(path, power->directory, len) == 0 && path[len] == '/' &&
           strchr(path + len + 1, '/');
}

static bool path_of_file(int fd, char out[PATH_MAX])
{
    char link_path[64];

    snprintf(link_path, sizeof(link_path), "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link_path, out, PATH_MAX - 1);
    out[len > 0 ? len : 0] = '\0';
    return len > 0;
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

/* Whoever looks for a file by what the system knows it by: in the directory, and then in those below. */
static bool find_inode(const char *directory, ino_t inode, bool is_top, char out[2 * PATH_MAX])
{
    DIR *stream = opendir(directory);
    const struct dirent *entry;
    bool is_found = false;

    while (stream && !is_found && (entry = readdir(stream)) != NULL) {
        char path[2 * PATH_MAX];
        path_of(directory, entry->d_name, path);
        if (entry->d_type == DT_REG && entry->d_ino == inode) {
            memcpy(out, path, sizeof(path));
            is_found = true;
        } else if (is_top && entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            is_found = find_inode(path, inode, false, out);
        }
    }
    if (stream)
        closedir(stream);
    return is_found;
}

static int really_rename(const char *from, const char *to)
{
    int (*call)(const char *, const char *) = (int (*)(const char *, const char *))real("rename");

    return call(from, to);
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
            power->notes[i].moved = 0;
            power->notes[i].is_moved_in = false;
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

static void note_rename(struct power *power, const char *old, const char *fresh)
{
    struct note *note = find_note(power, old, false);
    const off_t synced_bytes = note ? note->synced_bytes : 0,
                written_bytes = note ? note->written_bytes : 0;

    keep(power, fresh);
    struct note *target = find_note(power, fresh, true);
    target->synced_bytes = synced_bytes;
    target->written_bytes = written_bytes;
    if (!target->is_kept)
        target->is_name_synced = false;
    if (note && note != target && !note->is_name_synced)
        *note = (struct note){ 0 };
}

/* It may be back, with what becomes of it elsewhere. */
static void note_move_out(struct power *power, const char *old, const char *path)
{
    struct note *note = find_note(power, old, false);
    struct stat info;

    if (note && !note->is_name_synced)
        *note = (struct note){ 0 };
    else if (note && stat(path, &info) == 0)
        note->moved = info.st_ino;
}

static void note_move_in(struct power *power, const char *fresh, const char *path)
{
    struct note *note;
    struct stat info;

    keep(power, fresh);
    note = find_note(power, fresh, true);
    note->synced_bytes = note->written_bytes = 0;
    if (!note->is_kept)
        note->is_name_synced = false;
    note->is_moved_in = true;
    note->moved_in_bytes = stat(path, &info) == 0 ? info.st_size : 0;
}

/* ---- overwritten bytes ------------------------------------------------------------------------------- */

/* Where a file has its place, or the first place with 0 in it. */
static ino_t *find_overwritten(struct power *power, ino_t inode)
{
    for (size_t i = 0; i < OVERWRITTEN_MAX; i++)
        if (power->overwritten[i] == inode)
            return &power->overwritten[i];
    return NULL;
}

static void side_path_of(const struct power *power, ino_t inode, char out[2 * PATH_MAX])
{
    snprintf(out, 2 * PATH_MAX, "%s/overwritten-%llu", power->side, (unsigned long long)inode);
}

/* Its bytes were synced, or it is gone. */
static void forget_overwritten(struct power *power, ino_t inode)
{
    ino_t *place = find_overwritten(power, inode);
    char path[2 * PATH_MAX];

    if (!place || inode == 0)
        return;
    side_path_of(power, inode, path);
    really_unlink(path);
    *place = 0;
}

static ssize_t really_pwrite(int fd, const void *from, size_t size, off_t at)
{
    ssize_t (*call)(int, const void *, size_t,
                    off_t) = (ssize_t(*)(int, const void *, size_t, off_t))real("pwrite");

    return call(fd, from, size, at);
}

/* What a file holds goes to another one, all of it, or pieces by chance. */
static void copy_pieces(int from, int to, uint64_t *state)
{
    char piece[PIECE_BYTES];
    const bool is_whole = !state || *state % 2 == 0;
    ssize_t len;

    for (off_t at = 0; (len = pread(from, piece, sizeof(piece), at)) > 0; at += len) {
        if (state)
            *state = *state * 6364136223846793005u + 1442695040888963407u;
        if ((is_whole || *state >> 63) && really_pwrite(to, piece, (size_t)len, at) != len)
            abort();
    }
}

static void remember_overwritten(struct power *power, int fd, ino_t inode)
{
    char own[64], path[2 * PATH_MAX];

    ino_t *place = find_overwritten(power, 0);
    side_path_of(power, inode, path);
    snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
    const int from = open(own, O_RDONLY | O_CLOEXEC),
              to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!place || from < 0 || to < 0)
        abort();
    copy_pieces(from, to, NULL);
    close(from);
    close(to);
    *place = inode;
}

/* Without power it would be back under its name, and not whole. */
static void refuse_if_moved(const struct power *power, ino_t inode)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (power->notes[i].name[0] != '\0' && power->notes[i].moved == inode) {
            fprintf(stderr, "power: %s is changed before its move was synced\n",
                    power->notes[i].name);
            abort();
        }
    }
}

/* Before a file in a directory below is changed. */
static void note_change(int fd, bool is_overwriting)
{
    struct power *power = shared();
    char path[PATH_MAX];
    struct stat info;

    if (power->directory[0] == '\0' || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        !path_of_file(fd, path) || !is_below(power, path))
        return;
    lock_notes(power);
    if (!find_overwritten(power, info.st_ino)) {
        refuse_if_moved(power, info.st_ino);
        if (is_overwriting)
            remember_overwritten(power, fd, info.st_ino);
    }
    unlock_notes(power);
}

/* ---- the calls -------------------------------------------------------------------------------------- */

/* Under the lock, which nobody has to open: no notes are half made. */
static void end_if_wanted(struct power *power)
{
    if (!power->end.is_wanted || power->end.moves > 0 || power->end.calls-- > 0)
        return;
    power->end.is_there = true;
    for (;;)
        kill(getpid(), SIGKILL);
}

static bool is_log(const char *name)
{
    const size_t len = strlen(name);

    return len > 4 && strcmp(name + len - 4, ".log") == 0;
}

static void note_file_sync(struct power *power, const char *name, off_t size)
{
    struct note *note = find_note(power, name, true);
    const off_t end = is_log(name) && note->written_bytes < size ? note->written_bytes : size;

    if (note->synced_bytes < end)
        note->synced_bytes = end;
    if (power->are_names_synced_with_files && !note->is_moved_in) {
        forget_kept(power, note);
        note->is_name_synced = true;
    }
}

static int note_sync(int fd)
{
    struct power *power = shared();
    char path[PATH_MAX];
    struct stat info;

    if (power->directory[0] == '\0' || fstat(fd, &info) != 0 || !path_of_file(fd, path))
        return 0;
    const char *name = name_inside(power, path);
    const bool is_directory = strcmp(path, power->directory) == 0;
    lock_notes(power);
    if (name || is_directory)
        end_if_wanted(power);
    if (S_ISREG(info.st_mode))
        forget_overwritten(power, info.st_ino);
    if (is_directory)
        sync_names(power);
    else if (name && S_ISREG(info.st_mode))
        note_file_sync(power, name, info.st_size);
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

/* The kernel is not asked, and nothing is promised. */
int sync_file_range(int fd, off_t at, off_t size, unsigned flags)
{
    (void)fd;
    (void)at;
    (void)size;
    (void)flags;
    return 0;
}

/* What is written may end with zeros that are not for filling up. */
static void note_write(int fd, const char *from, off_t size, off_t at)
{
    struct power *power = shared();
    char path[PATH_MAX];

    while (size > 0 && from[size - 1] == '\0')
        size--;
    if (size <= 0 || power->directory[0] == '\0' || !path_of_file(fd, path))
        return;
    const off_t end = at + size + OWN_ZEROS_MAX;
    const char *name = name_inside(power, path);
    if (!name || !is_log(name))
        return;
    lock_notes(power);
    struct note *note = find_note(power, name, true);
    if (note->written_bytes < end)
        note->written_bytes = end;
    unlock_notes(power);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    note_change(fd, true);
    const ssize_t len = really_pwrite(fd, from, size, at);
    note_write(fd, from, len, at);
    return len;
}

/* By the thread that has begun it, before it begins another. */
static long end_begun(struct iocb *begun, struct io_event *out)
{
    if (begun->aio_nbytes == 0)
        abort();
    const ssize_t len = pwrite((int)begun->aio_fildes,
                               (const void *)(uintptr_t)begun->aio_buf, /* as the kernel is told */
                               (size_t)begun->aio_nbytes, (off_t)begun->aio_offset);
    out->res = len >= 0 ? len : -errno;
    begun->aio_nbytes = 0;
    return 1;
}

/* Programs and the C library use it for what has no function of its own. */
long syscall(long number, ...)
{
    enum { ARGUMENTS = 6 };
    long (*call)(long, ...) = (long (*)(long, ...))real("syscall");
    static _Thread_local struct iocb begun;
    long arguments[ARGUMENTS];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_io_getevents)
        return end_begun(&begun, (struct io_event *)arguments[3]);
    if (number != SYS_io_submit)
        return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]);
    if (begun.aio_nbytes != 0)
        abort();
    begun = **(struct iocb **)arguments[2];
    return 1;
}

int ftruncate(int fd, off_t size)
{
    int (*call)(int, off_t) = (int (*)(int, off_t))real("ftruncate");

    note_change(fd, false);
    return call(fd, size);
}

int unlink(const char *path)
{
    struct power *power = shared();

    lock_notes(power);
    const char *name = name_inside(power, path);
    if (name) {
        end_if_wanted(power);
        keep(power, name);
    }
    unlock_notes(power);
    return really_unlink(path);
}

/* Of a file in a directory below: what the system knew it by may be another one's next. */
int unlinkat(int directory, const char *name, int flags)
{
    int (*call)(int, const char *, int) = (int (*)(int, const char *, int))real("unlinkat");
    struct power *power = shared();
    char path[PATH_MAX];
    struct stat info;

    if (power->directory[0] != '\0' && fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && info.st_nlink == 1 && path_of_file(directory, path) &&
        name_inside(power, path)) {
        lock_notes(power);
        refuse_if_moved(power, info.st_ino);
        forget_overwritten(power, info.st_ino);
        unlock_notes(power);
    }
    return call(directory, name, flags);
}

int rename(const char *from, const char *to)
{
    struct power *power = shared();

    lock_notes(power);
    const char *old = name_inside(power, from), *fresh = name_inside(power, to);
    if (old || fresh)
        end_if_wanted(power);
    if (old && fresh)
        note_rename(power, old, fresh);
    else if (old)
        note_move_out(power, old, from);
    else if (fresh)
        note_move_in(power, fresh, from);
    if (!old && fresh && power->end.moves > 0)
        power->end.moves--;
    const int result = really_rename(from, to);
    unlock_notes(power);
    return result;
}

int fstatfs(int fd, struct statfs *out)
{
    int (*call)(int, struct statfs *) = (int (*)(int, struct statfs *))real("fstatfs");
    const int result = call(fd, out);

    if (result == 0 && shared()->are_names_synced_with_files)
        out->f_type = BTRFS_SUPER_MAGIC;
    return result;
}

/* ---- the cut ---------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Bytes behind the last sync, whichever have reached the disk. What came from below keeps its length. */
static void tear(const char *path, off_t synced_bytes, off_t size, off_t length_least,
                 uint64_t *state)
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
    if (left < length_least && ftruncate(fd, length_least) != 0)
        abort();
    close(fd);
}

/* Files that were moved to a directory below are back, by chance. Returns how many. */
static unsigned undo_moves(struct power *power, uint64_t *state)
{
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    unsigned count = 0;

    for (size_t i = 0; i < FILES_MAX; i++) {
        const struct note *note = &power->notes[i];
        if (note->name[0] == '\0' || note->moved == 0 || draw(state) % 2 == 0)
            continue;
        path_of(power->directory, note->name, to);
        if (access(to, F_OK) != 0 && find_inode(power->directory, note->moved, true, from))
            count += really_rename(from, to) == 0;
    }
    return count;
}

/* What was not synced when it was overwritten is as it was before, by chance. Returns in how many files. */
static unsigned undo_overwriting(struct power *power, uint64_t *state)
{
    unsigned count = 0;

    for (size_t i = 0; i < OVERWRITTEN_MAX; i++) {
        const ino_t inode = power->overwritten[i];
        char side[2 * PATH_MAX], path[2 * PATH_MAX];
        side_path_of(power, inode, side);
        if (inode != 0 && find_inode(power->directory, inode, true, path)) {
            const int from = open(side, O_RDONLY | O_CLOEXEC),
                      to = open(path, O_WRONLY | O_CLOEXEC);
            uint64_t pieces = draw(state);
            copy_pieces(from, to, &pieces);
            close(from);
            close(to);
            count++;
        }
        forget_overwritten(power, inode);
    }
    return count;
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
        return really_rename(kept, path) == 0; /* whatever is there is the older one again, whole */
    }
    if (stat(path, &info) != 0)
        return false;
    if (!is_there && !(note && note->is_kept) && draw(state) % 2 == 0)
        return really_unlink(path) == 0;
    if (info.st_size > synced_bytes)
        tear(path, synced_bytes, info.st_size, note && note->is_moved_in ? note->moved_in_bytes : 0,
             state);
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

    for (int i = 0; i < TRIES_MAX && !power->end.is_there && atomic_flag_test_and_set(&power->lock);
         i++)
        sched_yield();
}

/* Before the directory is opened. */
void power_sync_names_with_files(bool is_so)
{
    shared()->are_names_synced_with_files = is_so;
}

/* The process that does so is killed before the next call but so many that syncs or moves something in the directory. */
void power_end_behind(unsigned moves, unsigned calls)
{
    struct power *power = shared();

    lock_notes(power);
    power->end.moves = moves;
    power->end.calls = calls;
    power->end.is_wanted = true;
    unlock_notes(power);
}

/* Names of what is there, and of what may be back. */
static size_t list_names(const struct power *power, char (*names)[NAME_BYTES])
{
    DIR *stream = opendir(power->directory);
    const struct dirent *entry;
    size_t count = 0;

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
    return count;
}

/* Everybody who wrote has been killed. Returns how many files have lost something. */
unsigned power_cut(uint64_t seed)
{
    struct power *power = shared();
    uint64_t state = seed;
    char(*names)[NAME_BYTES] = calloc(2 * FILES_MAX, NAME_BYTES);

    memset(&power->end, 0, sizeof(power->end));
    unlock_notes(power);
    unsigned lost = undo_moves(power, &state);
    const size_t count = list_names(power, names);
    for (size_t i = 0; i < count; i++)
        lost += cut_file(power, names[i], &state);
    free(names);
    lost += undo_overwriting(power, &state);
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
