/* SPDX-License-Identifier: Apache-2.0 */
/* call_filter.c - see call_filter.h. */
#include "agent/child/call_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_faccessat2
#define SYS_faccessat2 439 /* Linux 5.8, all CPUs */
#endif

/* What glibc calls on x86-64 only, which has them from before there were others. */
#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define OLD_CALLS    SYS_access, SYS_epoll_wait, SYS_lstat, SYS_poll, SYS_readlink, SYS_stat, SYS_time,
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OLD_CALLS
#endif

/* Allowed, if the conditions below hold. */
static const uint32_t allowed_calls[] = {
    /* Reading a target: its memory, its files in /proc, its clocks, and whether it lives. */
    SYS_process_vm_readv, SYS_pread64, SYS_read, SYS_openat, SYS_openat2, SYS_close, SYS_lseek,
    SYS_getdents64, SYS_faccessat, SYS_faccessat2, SYS_newfstatat, SYS_fstat, SYS_statx,
    SYS_fstatfs, SYS_readlinkat, SYS_fcntl, SYS_clock_gettime, SYS_clock_getres, SYS_pidfd_open,
    SYS_kcmp, SYS_kill, SYS_bpf,
    /* Being at the target's CPU in time. */
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getscheduler, SYS_sched_setscheduler,
    SYS_sched_getattr, SYS_sched_setattr, SYS_sched_yield, SYS_getcpu, SYS_clock_nanosleep,
    SYS_nanosleep,
    /* The channel to the supervisor, and the log. */
    SYS_ppoll, SYS_epoll_ctl, SYS_epoll_pwait, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg,
    SYS_timerfd_settime, SYS_write, SYS_writev,
    /* Memory, and what libc does by itself. */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_getrandom, SYS_prlimit64,
    SYS_gettimeofday, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid,
    SYS_getegid, SYS_capget, SYS_sysinfo, SYS_uname,
    /* Its end. */
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_tgkill,
    SYS_exit, SYS_exit_group, OLD_CALLS};

enum { INSTRUCTIONS_MAX = 512 };

struct filter {
    struct sock_filter code[INSTRUCTIONS_MAX];
    unsigned short size;
};

/* Of 64 bits of an argument the lower 32 and the upper 32, as they lie in memory. */
enum half { LOWER, UPPER };

#define WRITES ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)))

static void add(struct filter *filter, struct sock_filter instruction)
{
    if (filter->size < INSTRUCTIONS_MAX) /* else the kernel refuses it: it has no end */
        filter->code[filter->size++] = instruction;
}

static void load_number(struct filter *filter)
{
    add(filter,
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

static void end_with(struct filter *filter, uint32_t action)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void skip_unless_equal(struct filter *filter, uint32_t value, uint8_t instructions)
{
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, instructions));
}

/* The call fails unless the bits `mask` of half an argument (the first is 0) are `value`. */
static void require(struct filter *filter, uint32_t call, unsigned argument, enum half half,
                    uint32_t mask, uint32_t value)
{
    const uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) +
                                   sizeof(uint64_t) * argument + sizeof(uint32_t) * half);

    skip_unless_equal(filter, call, 5);
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    end_with(filter, SECCOMP_RET_ERRNO | EPERM);
    load_number(filter);
}

/* The same for all 64 bits. */
static void require_pointer(struct filter *filter, uint32_t call, unsigned argument,
                            const void *pointer)
{
    const uint64_t value = (uintptr_t)pointer;

    require(filter, call, argument, LOWER, UINT32_MAX, (uint32_t)value);
    require(filter, call, argument, UPPER, UINT32_MAX, (uint32_t)(value >> 32));
}

static void require_of_files(struct filter *filter, const void *open_how)
{
    /* F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC, but not F_SETOWN: signals. */
    const uint32_t commands = F_DUPFD_CLOEXEC | 7;

    require(filter, SYS_openat, 2, LOWER, WRITES, O_RDONLY);
    /* Its flags are in memory, where a filter cannot look; these cannot be changed. */
    require_pointer(filter, SYS_openat2, 2, open_how);
    require(filter, SYS_fcntl, 1, LOWER, ~commands, 0);
    require(filter, SYS_write, 0, LOWER, UINT32_MAX, STDERR_FILENO);
    require(filter, SYS_writev, 0, LOWER, UINT32_MAX, STDERR_FILENO);
}

static void require_of_memory(struct filter *filter)
{
    /* Where the kernel likes, and nothing executable or shared. */
    require_pointer(filter, SYS_mmap, 0, NULL);
    require(filter, SYS_mmap, 2, LOWER, PROT_EXEC, 0);
    require(filter, SYS_mmap, 3, LOWER, MAP_TYPE | MAP_ANONYMOUS | MAP_FIXED | MAP_FIXED_NOREPLACE,
            MAP_PRIVATE | MAP_ANONYMOUS);
    require(filter, SYS_mremap, 3, LOWER, ~(uint32_t)MREMAP_MAYMOVE, 0);
}

static void require_of_processes(struct filter *filter)
{
    const uint32_t own = (uint32_t)getpid();

    require(filter, SYS_sched_setaffinity, 0, LOWER, UINT32_MAX, 0);
    require(filter, SYS_sched_setscheduler, 0, LOWER, UINT32_MAX, 0);
    require(filter, SYS_sched_setattr, 0, LOWER, UINT32_MAX, 0);
    require(filter, SYS_kill, 1, LOWER, UINT32_MAX, 0);     /* asks whether there is a process */
    require(filter, SYS_tgkill, 0, LOWER, UINT32_MAX, own); /* abort */
    require_pointer(filter, SYS_prlimit64, 2, NULL);        /* asks for a limit */
    require(filter, SYS_bpf, 0, LOWER, UINT32_MAX, BPF_PROG_TEST_RUN);
}

static void make_filter(struct filter *filter, const void *open_how)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, arch)));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    end_with(filter, SECCOMP_RET_ERRNO | ENOSYS);
    load_number(filter);
    require_of_files(filter, open_how);
    require_of_memory(filter);
    require_of_processes(filter);
    for (size_t i = 0; i < sizeof(allowed_calls) / sizeof(allowed_calls[0]); i++) {
        skip_unless_equal(filter, allowed_calls[i], 1);
        end_with(filter, SECCOMP_RET_ALLOW);
    }
    end_with(filter, SECCOMP_RET_ERRNO | ENOSYS);
}

bool call_filter_is_possible(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;

    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ||
           prctl(PR_GET_SECCOMP) >= 0;
}

#ifdef INSTRUMENTED
bool call_filter_install(const void *open_how)
{
    (void)open_how;
    (void)make_filter;
    errno = ENOTSUP;
    return false;
}
#else
bool call_filter_install(const void *open_how)
{
    struct filter filter = {.size = 0};
    struct sock_fprog program = {.filter = filter.code};

    make_filter(&filter, open_how);
    program.len = filter.size;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    /* The flag: before Linux 5.16 a filter otherwise turns on a mitigation that slows down memory
     * reads, and that only a process needs which runs code that it does not trust. prctl does the
     * same without the flag; a service manager may allow it and refuse seccomp. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &program) == 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif
