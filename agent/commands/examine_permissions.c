/* SPDX-License-Identifier: Apache-2.0 */
/* examine_permissions.c - where pystrobe runs, and what it may do there. See examine.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/child/call_filter.h"
#include "agent/child/child_process.h"
#include "agent/commands/examine.h"
#include "agent/host/clock.h"
#include "agent/proc/namespaces.h"
#include "agent/proc/ptrace_access.h"
#include "agent/sampling/engine.h"
#include "base/capability.h"
#include "base/proc_stat.h"

enum { PROCESSES_MAX = 1000 };

/* A call that takes microseconds, on a machine that is busy. */
#define CALL_MAX_NS (5 * NS_PER_S)

/* To each capability, what is not to be had without it. */
static const struct {
    unsigned number;
    const char *name, *with, *without, *cure;
} capabilities[] = {
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "processes of all users can be read",
     "only processes of this user can be read",
     "for those of others: run pystrobe as root, or as a service or container with CAP_SYS_PTRACE"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "files in private folders can be read",
     "programs in private folders, and the environment of others, cannot be looked at",
     "for these: give pystrobe CAP_DAC_READ_SEARCH, too"},
};

static void examine_yama(struct findings *out)
{
    long scope = ptrace_access_yama();
    bool capable = capability_has(CAP_SYS_PTRACE);

    if (scope <= 0)
        findings_add(out, FINDING_GOOD, "yama", "", "%s",
                     scope < 0 ? "the kernel has no Yama" : "kernel.yama.ptrace_scope is 0");
    else if (scope >= 3)
        findings_add(out, FINDING_BAD, "yama", ptrace_access_cure(PTRACE_ACCESS_YAMA_OFF), "%s",
                     ptrace_access_text(PTRACE_ACCESS_YAMA_OFF));
    else if (capable)
        findings_add(out, FINDING_GOOD, "yama", "",
                     "kernel.yama.ptrace_scope is %ld, which CAP_SYS_PTRACE overrides", scope);
    else if (scope == 2)
        findings_add(out, FINDING_BAD, "yama", ptrace_access_cure(PTRACE_ACCESS_YAMA_ADMIN), "%s",
                     ptrace_access_text(PTRACE_ACCESS_YAMA_ADMIN));
    else
        findings_add(out, FINDING_NOTE, "yama", ptrace_access_cure(PTRACE_ACCESS_YAMA), "%s",
                     ptrace_access_text(PTRACE_ACCESS_YAMA));
}

/* What came of trying to read the processes of the machine. */
struct tried {
    unsigned readable, refused;
    unsigned by[PTRACE_ACCESS_COUNT];
};

static bool try_one(void *ctx, pid_t pid, uint64_t inode)
{
    struct tried *tried = ctx;
    struct proc_stat stat;
    enum ptrace_access access;

    (void)inode;
    if (pid == getpid() || proc_stat_read(pid, &stat) != PROC_OK || stat.is_kernels)
        return true;
    access = ptrace_access_find(pid);
    tried->by[access]++;
    tried->readable += access == PTRACE_ACCESS_NONE;
    tried->refused += access != PTRACE_ACCESS_NONE && access != PTRACE_ACCESS_GONE;
    return tried->readable + tried->refused < PROCESSES_MAX;
}

/* What can be read is best known by trying: all that there is, and what stops us from most. */
static void examine_others(struct findings *out)
{
    struct proc_stat first;
    struct tried tried = {0};
    enum ptrace_access i, most = PTRACE_ACCESS_HIDDEN;

    if (getpid() != 1 &&
        proc_stat_read(1, &first) != PROC_OK) { /* which there is in each namespace */
        findings_add(out, FINDING_NOTE, "other processes", ptrace_access_cure(PTRACE_ACCESS_HIDDEN),
                     "%s", ptrace_access_text(PTRACE_ACCESS_HIDDEN));
        return;
    }
    (void)proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), try_one, &tried);
    for (i = PTRACE_ACCESS_HIDDEN; i < PTRACE_ACCESS_COUNT; i++)
        most = tried.by[i] > tried.by[most] ? i : most;
    if (tried.refused > 0)
        findings_add(out, FINDING_NOTE, "other processes", ptrace_access_cure(most),
                     "%u can be read, %u cannot; of these, %u: %s", tried.readable, tried.refused,
                     tried.by[most], ptrace_access_text(most));
    else if (tried.readable > 0)
        findings_add(out, FINDING_GOOD, "other processes", "",
                     "each of the %u that /proc shows can be read", tried.readable);
    else
        findings_add(out, FINDING_NOTE, "other processes", "", "/proc shows none");
}

/* What high rates cost the programs that are sampled. */
static void examine_bpf_reader(struct findings *out)
{
    struct cpy_scratch *scratch = cpy_scratch_new();

    if (cpy_scratch_use_bpf(scratch))
        findings_add(out, FINDING_GOOD, "high rates", "",
                     "from %d Hz on the kernel reads programs for pystrobe, in an interrupt",
                     ENGINE_BPF_MIN_HZ);
    else
        findings_add(
            out, FINDING_NOTE, "high rates",
            "to lower that: Linux 5.10, CAP_BPF and CAP_PERFMON, outside of pid namespaces",
            "at 1000 Hz a busy program loses some percent of its speed, as the kernel will "
            "not read it for pystrobe: %s",
            strerror(errno));
    cpy_scratch_free(scratch);
}

static void examine_rights(struct findings *out)
{
    enum ptrace_access own = ptrace_access_find(getpid());

    if (own != PTRACE_ACCESS_NONE)
        findings_add(out, FINDING_BAD, "reading memory", ptrace_access_cure(own), "%s",
                     ptrace_access_text(own));
    else if (ptrace_access_calls_are_refused())
        findings_add(out, FINDING_NOTE, "reading memory", ptrace_access_cure(PTRACE_ACCESS_SECCOMP),
                     "%s; /proc/PID/mem is read instead, which costs more",
                     ptrace_access_text(PTRACE_ACCESS_SECCOMP));
    else
        findings_add(out, FINDING_GOOD, "reading memory", "", "the kernel lets pystrobe read");
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        bool has = capability_has(capabilities[i].number);

        findings_add(out, has ? FINDING_GOOD : FINDING_NOTE, capabilities[i].name,
                     has ? "" : capabilities[i].cure, "%s%s",
                     has ? capabilities[i].with : capabilities[i].without,
                     has && !namespaces_are_hosts_users() ? ", in this user namespace" : "");
    }
    examine_bpf_reader(out);
    examine_yama(out);
    examine_others(out);
}

static void read_ourselves(void *ctx)
{
    char byte = 0, copy;
    struct iovec local = {&copy, 1}, remote = {&byte, 1};

    (void)ctx;
    (void)process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

/* A filter may kill whoever makes the call, or hold it: a child of ours tries it. Gives what it
 * does; NULL: neither. */
static const char *try_call(void)
{
    struct child_process child;
    int status;

    if (child_process_fork(&child, read_ourselves, NULL) != 0)
        return NULL;
    status = child_process_wait(&child, clock_mono_ns() + CALL_MAX_NS);
    child_process_end(&child, clock_mono_ns());
    return status == 128 + SIGSYS ? "kills" : status == CHILD_PROCESS_STATUS_RUNS ? "blocks" : NULL;
}

/* True if /proc shows the processes that we are among, as all that follows needs it. */
static bool examine_proc(struct findings *out)
{
    if (namespaces_have_own_proc())
        return true;
    findings_add(out, FINDING_BAD, "proc", "mount -t proc proc /proc (of unshare: --mount-proc)",
                 access("/proc/1", F_OK) == 0
                     ? "/proc is that of another pid namespace: its numbers are not ours"
                     : "/proc is not mounted");
    return false;
}

static void examine_namespaces(struct findings *out)
{
    char label[NAMESPACES_LABEL_MAX];

    if (namespaces_are_hosts_processes())
        findings_add(out, FINDING_GOOD, "pid namespace", "", "the host's");
    else
        findings_add(out, FINDING_NOTE, "pid namespace",
                     "for others: run pystrobe on the host, or share its processes (--pid=host, "
                     "hostPID: true)",
                     "one of its own, a container's say: only the processes in it can be seen");
    if (namespaces_are_hosts_users())
        findings_add(out, FINDING_GOOD, "user namespace", "", "the host's");
    else
        findings_add(out, FINDING_NOTE, "user namespace",
                     ptrace_access_cure(PTRACE_ACCESS_USER_NAMESPACE),
                     "one of its own: capabilities reach no process outside of it");
    namespaces_label(getpid(), label);
    if (label[0] && strcmp(label, "unconfined") != 0)
        findings_add(out, FINDING_NOTE, "security module", "", "it runs pystrobe as %s", label);
}

/* What protects others from a sampler that a target has corrupted. */
static void examine_call_filter(struct findings *out)
{
    if (call_filter_is_possible())
        findings_add(out, FINDING_GOOD, "samplers", "",
                     "can make no system calls but those that reading takes");
    else
        findings_add(out, FINDING_NOTE, "samplers",
                     "a kernel with CONFIG_SECCOMP_FILTER, not emulated, limits them",
                     "can make all system calls, as the kernel takes no seccomp filter");
}

/* What divides CPU time on a host with more to do than it has CPUs: see sched_idle.h. */
static void examine_scheduler(struct findings *out)
{
    const int fd = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
    struct proc_turns turns;
    const bool tells = proc_turns_reread(fd, &turns) == PROC_OK;

    if (fd >= 0)
        (void)close(fd);
    findings_add(out, tells ? FINDING_GOOD : FINDING_NOTE, "busy hosts",
                 tells ? "" : "a kernel with CONFIG_SCHED_DEBUG tells it in /proc/PID/sched",
                 "the kernel %s whether a thread has a CPU or waits for one%s",
                 tells ? "tells" : "does not tell",
                 tells ? "" : ": some CPU time is shown where threads wait");
}

bool examine_permissions(struct findings *out)
{
    const char *does = try_call();

    if (does) {
        findings_add(out, FINDING_BAD, "reading memory", ptrace_access_cure(PTRACE_ACCESS_SECCOMP),
                     "a seccomp filter on pystrobe %s whoever calls process_vm_readv", does);
        return false;
    }
    if (!examine_proc(out))
        return false;
    examine_namespaces(out);
    examine_rights(out);
    examine_call_filter(out);
    examine_scheduler(out);
    return true;
}
