/* Guard: rights that are given up.
 *
 * The filter is a list of what is refused, not of what is allowed: RocksDB, OpenSSL and the C library are of the
 * distribution and change, and a server that dies of a call that somebody added helps nobody. What is refused are the
 * calls by which an intruder goes on from here. The kernel keeps the verdict for each number, so it costs nothing.
 *
 * Threads: guard_calls() reaches only the thread that calls it and those it starts, so it comes before the first of
 * them. To reach others, seccomp() would be needed, which some units of systemd do not allow; prctl() they do. */
#include "server/guard.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void guard_memory(bool has_core_dumps)
{
    prctl(PR_SET_DUMPABLE, has_core_dumps ? 1 : 0, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

status guard_become(struct arena *arena, const char *user)
{
    errno = 0;
    const struct passwd *entry = getpwnam(user);

    if (!entry)
        return status_fail(arena, INVALID, "--user %s: there is no such user", user);
    if (geteuid() == entry->pw_uid && getuid() == entry->pw_uid)
        return STATUS_OK;
    if (geteuid() != 0)
        return status_fail(arena, INVALID, "--user %s: only root can become another user", user);
    if (initgroups(user, entry->pw_gid) != 0 || setgid(entry->pw_gid) != 0 ||
        setuid(entry->pw_uid) != 0)
        return status_fail(arena, IO_ERROR, "--user %s: %s", user, strerror(errno));
    ASSERT(setuid(0) != 0 || entry->pw_uid == 0); /* there is no way back */
    return STATUS_OK;
}

/* ---- calls ------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define OWN_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_MACHINE

static const unsigned refused[] = {
    /* programs */
    SYS_execve,
    SYS_execveat,
    /* other processes */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
    SYS_process_madvise,
#endif
    /* file systems and name spaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_by_handle_at,
    SYS_quotactl,
    SYS_swapon,
    SYS_swapoff,
#ifdef SYS_fsopen
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_move_mount,
    SYS_open_tree,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    /* the kernel */
    SYS_bpf,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_reboot,
    SYS_acct,
    SYS_personality,
#ifdef SYS_io_uring_setup /* whose requests no filter sees */
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
#endif
    /* the machine's time and names */
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

enum { HEAD = 3, FILTER_MAX = HEAD + ARRAY_COUNT(refused) + 3 };

/* Numbers of another machine's calls mean something else; they are refused altogether. So are those of the second set
 * that x86-64 has, which begin at 1 << 30. */
static size_t build(struct sock_filter out[FILTER_MAX])
{
    const size_t count = ARRAY_COUNT(refused);
    size_t at = 0;

    out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, arch));
    out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 0,
                                             (uint8_t)(count + 3));
    out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++)
        out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
                                                 (uint8_t)(count - i + 1), 0);
    out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1U << 30, 1, 0);
    out[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    out[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                             SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA));
    return at;
}

status guard_calls(struct arena *arena)
{
    struct sock_filter filter[FILTER_MAX];
    const struct sock_fprog program = { .len = (unsigned short)build(filter), .filter = filter };

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
        return STATUS_OK;
    return status_fail(arena, UNSUPPORTED, "the kernel does not take a filter of calls: %s",
                       strerror(errno));
}

#else

status guard_calls(struct arena *arena)
{
    (void)arena;
    return status_of(UNSUPPORTED, "there is no filter of calls for this machine");
}

#endif
