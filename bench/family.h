/* What a program and its children have used, the ones that are gone included: processor time, bytes written, memory;
 * and what a directory takes on the disk. */
#ifndef BENCH_FAMILY_H
#define BENCH_FAMILY_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bench/bench.h"

enum { FAMILY_MAX = 512 };

/* The process first, then its children; how many. */
static inline size_t family_members(pid_t pid, pid_t members[FAMILY_MAX])
{
    size_t count = 1;
    char path[64];
    int child;

    members[0] = pid;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    while (file && count < FAMILY_MAX && fscanf(file, "%d", &child) == 1)
        members[count++] = child;
    if (file)
        fclose(file);
    return count;
}

/* Of all threads that a process has, in ms; nothing of one that has just gone. */
static inline double process_cpu_ms(pid_t pid)
{
    char path[64], file_path[PATH_MAX];
    const struct dirent *entry;
    double sum = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    while (tasks && (entry = readdir(tasks)) != NULL) {
        unsigned long long ns = 0;
        snprintf(file_path, sizeof(file_path), "%s/%s/schedstat", path, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(file_path, "r");
        if (file && fscanf(file, "%llu", &ns) == 1)
            sum += (double)ns / 1e6;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

/* Of helpers that it had and that are gone, in ms, by hundredths of a second. */
static inline double process_gone_cpu_ms(pid_t pid)
{
    char path[64], line[1024];
    long user = 0, system = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    BENCH_CLAIM(file != NULL && fgets(line, sizeof(line), file) != NULL);
    fclose(file);
    /* Behind the name come state, parent and others; the children's times are fields 16 and 17. */
    BENCH_CLAIM(sscanf(strrchr(line, ')') + 2,
                       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &user,
                       &system) == 2);
    return (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static inline double family_cpu_ms(pid_t pid)
{
    pid_t members[FAMILY_MAX];
    const size_t count = family_members(pid, members);
    double sum = process_gone_cpu_ms(pid);

    for (size_t i = 0; i < count; i++)
        sum += process_cpu_ms(members[i]);
    return sum;
}

/* A number that stands behind a name in a file of the process; 0 if it has just gone. */
static inline double process_value(pid_t pid, const char *file_name, const char *name)
{
    char path[64], line[256];
    double value = 0;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file_name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name), NULL);
    }
    if (file)
        fclose(file);
    return value;
}

static inline double family_sum(pid_t pid, const char *file, const char *name)
{
    pid_t members[FAMILY_MAX];
    const size_t count = family_members(pid, members);
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += process_value(members[i], file, name);
    return sum;
}

/* Bytes that go to the disk. A process that is gone has left its own to its parent. */
static inline double family_written_bytes(pid_t pid)
{
    return family_sum(pid, "io", "write_bytes:");
}

/* Bytes that had to come from the disk, because the system did not have them in memory any more. */
static inline double family_read_bytes(pid_t pid)
{
    return family_sum(pid, "io", "read_bytes:");
}

/* Waits until nothing has been written for a second, a minute at most. */
static inline void family_settle(pid_t pid)
{
    enum { TRIES = 60 };
    double before = -1;

    for (int i = 0; i < TRIES; i++) {
        const double now = family_written_bytes(pid);
        if (now == before)
            return;
        before = now;
        bench_sleep_ms(1000);
    }
}

/* Memory that no other process has, and its share of what several have. */
static inline double family_memory_mb(pid_t pid)
{
    return family_sum(pid, "smaps_rollup", "Pss:") / 1024;
}

/* What the blocks of all files below an open directory take. Files may go meanwhile. */
static inline double directory_bytes_at(int at)
{
    const struct dirent *entry;
    struct stat about;
    double sum = 0;

    DIR *directory = at < 0 ? NULL : fdopendir(at);
    while (directory && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(at, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sum += (double)about.st_blocks * 512;
        if (S_ISDIR(about.st_mode))
            sum += directory_bytes_at(openat(at, entry->d_name, O_RDONLY | O_DIRECTORY));
    }
    if (directory)
        closedir(directory);
    return sum;
}

static inline double directory_bytes(const char *path)
{
    return directory_bytes_at(open(path, O_RDONLY | O_DIRECTORY));
}

/* Reads all files of a directory, so that the system has them in memory. They may go meanwhile. */
static inline void directory_read(const char *path)
{
    static char room[1 << 20];
    const struct dirent *entry;
    DIR *directory = opendir(path);

    while (directory && (entry = readdir(directory)) != NULL) {
        const int file = openat(dirfd(directory), entry->d_name, O_RDONLY);
        while (file >= 0 && read(file, room, sizeof(room)) > 0) {
        }
        if (file >= 0)
            close(file);
    }
    if (directory)
        closedir(directory);
}

#endif
