/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptrace_access.h - finds out, by a try, why we may not read the memory of a process.
 *
 * Threads: any.
 * Source:  ptrace(2), "Ptrace access mode checking"; Documentation/admin-guide/LSM/Yama.rst.
 */
#ifndef AGENT_PROC_PTRACE_ACCESS_H
#define AGENT_PROC_PTRACE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Name, description, remedy. GONE includes zombies and kernel threads. */
#define PTRACE_ACCESS_LIST(X)                                                                     \
    X(NONE, "its memory can be read", "")                                                         \
    X(GONE, "there is no such process", "")                                                       \
    X(HIDDEN, "/proc is mounted with hidepid, which hides other users' processes",                \
      "give pystrobe CAP_SYS_PTRACE, or the group of /proc's gid= option")                        \
    X(OWN_LIMIT, "pystrobe has no file descriptor or memory left to find out",                    \
      "raise the limit of open files (LimitNOFILE of the unit, ulimit -n)")                       \
    X(SECCOMP, "a seccomp filter on pystrobe refuses process_vm_readv",                           \
      "allow process_vm_readv in the container's seccomp profile, or run pystrobe outside of it") \
    X(YAMA_OFF, "kernel.yama.ptrace_scope is 3, which forbids it to everyone",                    \
      "set kernel.yama.ptrace_scope = 1 in /etc/sysctl.d and boot again: it cannot be set back "  \
      "before")                                                                                   \
    X(YAMA_ADMIN,                                                                                 \
      "kernel.yama.ptrace_scope is 2, which forbids it without the "                              \
      "capability",                                                                               \
      "give pystrobe CAP_SYS_PTRACE")                                                             \
    X(USER_NAMESPACE,                                                                             \
      "it is in another user namespace, where pystrobe's capabilities do not count",              \
      "run pystrobe on the host, outside of the container (for systemd: PrivateUsers=no)")        \
    X(USER, "it belongs to another user",                                                         \
      "run pystrobe as root, as that user, or with CAP_SYS_PTRACE (a container: --cap-add "       \
      "SYS_PTRACE)")                                                                              \
    X(NOT_DUMPABLE,                                                                               \
      "it is not dumpable: it has changed its user, or asked for it (PR_SET_DUMPABLE)",           \
      "give pystrobe CAP_SYS_PTRACE (a container: --cap-add SYS_PTRACE)")                         \
    X(NOT_DUMPABLE_OR_LSM,                                                                        \
      "it is not dumpable, or a security module refuses it: only CAP_SYS_PTRACE can tell which",  \
      "give pystrobe CAP_SYS_PTRACE (a container: --cap-add SYS_PTRACE)")                         \
    X(CAPABILITIES, "it has capabilities that pystrobe does not have",                            \
      "give pystrobe CAP_SYS_PTRACE (a container: --cap-add SYS_PTRACE), or the process fewer")   \
    X(YAMA, "kernel.yama.ptrace_scope is 1, which lets only ancestors read",                      \
      "put pystrobe in front of the program (pystrobe exec -- COMMAND), or give it "              \
      "CAP_SYS_PTRACE")                                                                           \
    X(LSM, "a security module (AppArmor, SELinux, Landlock, ...) refuses it",                     \
      "allow pystrobe \"ptrace (read)\" in its profile; the audit log names the module")

enum ptrace_access {
#define PTRACE_ACCESS_ENUM(name, text, cure) PTRACE_ACCESS_##name,
    PTRACE_ACCESS_LIST(PTRACE_ACCESS_ENUM)
#undef PTRACE_ACCESS_ENUM
        PTRACE_ACCESS_COUNT
};

/* Finds why that process cannot be read now; PTRACE_ACCESS_NONE: it can. */
enum ptrace_access ptrace_access_find(pid_t pid);

/* Description and remedy of a reason. Never NULL; "": no remedy. Static. */
const char *ptrace_access_text(enum ptrace_access access);
const char *ptrace_access_cure(enum ptrace_access access);

/* Writes "description; remedy" for users, without remedy only the description, cut to `size`. */
void ptrace_access_explain(enum ptrace_access access, char *out, size_t size);

/* True if process_vm_readv is refused even for our own process (seccomp); reading /proc/PID/mem may
 * still be allowed. */
bool ptrace_access_calls_are_refused(void);

/* kernel.yama.ptrace_scope, 0 to 3; -1: the kernel has no Yama, or it cannot be read. */
long ptrace_access_yama(void);

#endif
