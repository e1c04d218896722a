/* Kill: ends a program by SIGKILL at its n-th call that changes a file, for tests of what is left then.
 *
 *     KILL_AT=n LD_PRELOAD=.../kill.so mayfly restore ...
 *
 * Calls count from 1: those that make, fill, sync, rename, link or remove a file or a directory. The program dies
 * before the n-th is made; a write is half made. Without KILL_AT, or behind its last such call, it runs as ever. So
 * whoever counts n up until the program comes to its end has seen every instant there is, without a clock.
 *
 * Threads: any; the counter is atomic. Which call of two threads comes first is theirs to decide. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

/* Is this the call before which it ends? */
static bool is_time(void)
{
    const char *at = getenv("KILL_AT");

    return at && atomic_fetch_add(&calls, 1) + 1 == atol(at);
}

static void count(void)
{
    if (is_time())
        raise(SIGKILL);
}

/* The next one behind this library. */
#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ---- making -------------------------------------------------------------------------------------------- */

/* Counts only what may make a file; the mode is the last argument then. */
static mode_t mode_of(int flags, va_list args)
{
    if (!(flags & O_CREAT))
        return 0;
    count();
    return va_arg(args, mode_t);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_of(flags, args);
    va_end(args);
    return REAL(open64)(path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    count();
    return REAL(mkdir)(path, mode);
}

/* ---- filling ------------------------------------------------------------------------------------------- */

ssize_t write(int fd, const void *data, size_t len)
{
    struct stat info;

    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_time()) {
        (void)!REAL(write)(fd, data, len / 2);
        raise(SIGKILL);
    }
    return REAL(write)(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (is_time()) {
        (void)!REAL(pwrite)(fd, data, len / 2, at);
        raise(SIGKILL);
    }
    return REAL(pwrite)(fd, data, len, at);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    return pwrite(fd, data, len, at);
}

static void write_half(const struct iocb *begun)
{
    const void *data = (const void *)(uintptr_t)begun->aio_buf;

    (void)!REAL(pwrite)((int)begun->aio_fildes, data, begun->aio_nbytes / 2, begun->aio_offset);
}

/* What has no function of its own; a write that is begun has none. */
long syscall(long number, ...)
{
    enum { ARGUMENTS = 6 };
    long arguments[ARGUMENTS];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_io_submit && is_time()) {
        write_half(*(struct iocb **)arguments[2]);
        raise(SIGKILL);
    }
    return REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
                         arguments[4], arguments[5]);
}

int ftruncate(int fd, off_t len)
{
    count();
    return REAL(ftruncate)(fd, len);
}

/* ---- syncing ------------------------------------------------------------------------------------------- */

int fsync(int fd)
{
    count();
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    count();
    return REAL(fdatasync)(fd);
}

/* ---- names --------------------------------------------------------------------------------------------- */

int rename(const char *from, const char *to)
{
    count();
    return REAL(rename)(from, to);
}

int link(const char *from, const char *to)
{
    count();
    return REAL(link)(from, to);
}

int unlink(const char *path)
{
    count();
    return REAL(unlink)(path);
}

int unlinkat(int at, const char *path, int flags)
{
    count();
    return REAL(unlinkat)(at, path, flags);
}

int rmdir(const char *path)
{
    count();
    return REAL(rmdir)(path);
}
