/* SPDX-License-Identifier: Apache-2.0 */
/* examine.c - see examine.h; of servers: examine_server.c. */
#include "agent/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/obstacle.h"
#include "unwind/cpy.h"

enum { PATH_BYTES = 4096, TRIES = 200, TRY_NS = 10 * 1000 * 1000 };

/* To each capability, what is not to be had without it. */
static const struct {
    unsigned number;
    const char *name, *with, *without;
} capabilities[] = {
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "processes of all users can be read",
     "only processes of this user can be read"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "files in private folders can be read",
     "programs in private folders, and the environment of others, cannot be looked at"},
};

static void examine_yama(struct findings *out)
{
    long scope = obstacle_yama();
    bool capable = obstacle_has_capability(CAP_SYS_PTRACE);

    if (scope <= 0)
        findings_add(out, FINDING_GOOD, "yama", "", "%s",
                     scope < 0 ? "the kernel has no Yama" : "kernel.yama.ptrace_scope is 0");
    else if (scope >= 3)
        findings_add(out, FINDING_BAD, "yama", obstacle_cure(OBSTACLE_YAMA_OFF), "%s",
                     obstacle_text(OBSTACLE_YAMA_OFF));
    else if (capable)
        findings_add(out, FINDING_GOOD, "yama", "",
                     "kernel.yama.ptrace_scope is %ld, which CAP_SYS_PTRACE overrides", scope);
    else if (scope == 2)
        findings_add(out, FINDING_BAD, "yama", obstacle_cure(OBSTACLE_YAMA_ADMIN), "%s",
                     obstacle_text(OBSTACLE_YAMA_ADMIN));
    else
        findings_add(out, FINDING_NOTE, "yama", obstacle_cure(OBSTACLE_YAMA), "%s",
                     obstacle_text(OBSTACLE_YAMA));
}

void examine_rights(struct findings *out)
{
    enum obstacle own = obstacle_find(getpid());
    size_t i;

    if (own != OBSTACLE_NONE)
        findings_add(out, FINDING_BAD, "reading memory", obstacle_cure(own), "%s",
                     obstacle_text(own));
    else if (obstacle_in_calls())
        findings_add(out, FINDING_NOTE, "reading memory", obstacle_cure(OBSTACLE_SECCOMP),
                     "%s; /proc/PID/mem is read instead, which costs more",
                     obstacle_text(OBSTACLE_SECCOMP));
    else
        findings_add(out, FINDING_GOOD, "reading memory", "", "the kernel lets pystrobe read");
    for (i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        bool has = obstacle_has_capability(capabilities[i].number);

        findings_add(out, has ? FINDING_GOOD : FINDING_NOTE, capabilities[i].name, "", "%s",
                     has ? capabilities[i].with : capabilities[i].without);
    }
    examine_yama(out);
}

static void count_thread(void *ctx, const struct cpy_thread *thread)
{
    unsigned *threads = ctx;

    (void)thread;
    ++*threads;
}

/* Samples until it works once: a busy process tears some. */
static void sample(struct findings *out, struct cpy_target *target)
{
    const struct timespec pause = {.tv_nsec = TRY_NS};
    enum cpy_rc rc = CPY_RACED;
    unsigned threads = 0;
    uint64_t began_ns = 0;
    int i;

    for (i = 0; i < TRIES && (rc == CPY_RACED || rc == CPY_STARTING); i++) {
        threads = 0;
        began_ns = clock_mono_ns();
        rc = cpy_sample(target, count_thread, &threads);
        if (rc == CPY_RACED || rc == CPY_STARTING)
            (void)nanosleep(&pause, NULL);
    }
    if (rc == CPY_OK)
        findings_add(out, FINDING_GOOD, "sample", "", "%u threads in %llu us", threads,
                     (unsigned long long)(clock_mono_ns() - began_ns) / 1000);
    else
        findings_add(out, FINDING_BAD, "sample", "try again; if it stays so, report it as a bug",
                     "%s", cpy_rc_text(rc));
}

/* Whatever else its interpreter may be, it is none that is known here. */
static void report_foreign(struct findings *out, enum cpy_rc rc, const struct err *err)
{
    findings_add(out, FINDING_BAD, "interpreter",
                 rc == CPY_STARTING ? "try again when its Python is up"
                                    : "pystrobe reads CPython 3.6 to 3.15: name the process that "
                                      "runs it, not its parent or a shell",
                 "%s", err->text[0] ? err->text : cpy_rc_text(rc));
}

void examine_process(struct findings *out, pid_t pid)
{
    enum obstacle obstacle = obstacle_find(pid);
    struct cpy_target *target = NULL;
    struct err err = {""};
    enum cpy_rc rc;

    if (obstacle != OBSTACLE_NONE) {
        findings_add(out, FINDING_BAD, "process", obstacle_cure(obstacle), "%d: %s", (int)pid,
                     obstacle_text(obstacle));
        return;
    }
    findings_add(out, FINDING_GOOD, "process", "", "%d: %s", (int)pid, obstacle_text(obstacle));
    rc = cpy_open(pid, &target, &err);
    if (rc == CPY_DENIED) {
        findings_add(out, FINDING_BAD, "process",
                     "give pystrobe CAP_DAC_READ_SEARCH, or run it as that user", "%s", err.text);
    } else if (rc != CPY_OK) {
        report_foreign(out, rc, &err);
    } else {
        findings_add(out, cpy_info(target)->warning[0] ? FINDING_NOTE : FINDING_GOOD, "interpreter",
                     "", "CPython %s%s%s", cpy_info(target)->version,
                     cpy_info(target)->warning[0] ? ": " : "", cpy_info(target)->warning);
        sample(out, target);
    }
    cpy_close(target);
}

/* What is there of a path that is made when it is needed. */
static void nearest_folder(const char *path, char out[PATH_BYTES])
{
    char *slash;

    (void)snprintf(out, PATH_BYTES, "%s", path);
    while (access(out, F_OK) != 0 && errno == ENOENT && (slash = strrchr(out, '/')))
        slash[slash == out] = '\0';
}

/* Writes a file as profiles are written. Gives errno. */
static int try_file(const char *folder)
{
    char path[PATH_BYTES + 64], bytes[4096] = {0};
    int fd, cause = 0;

    (void)snprintf(path, sizeof(path), "%s/.pystrobe-doctor-%d", folder, (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || fsync(fd) != 0)
        cause = errno;
    (void)close(fd);
    (void)unlink(path);
    return cause;
}

static const char *cure_of_folder(int cause)
{
    switch (cause) {
    case EACCES:
    case EPERM:
        return "let pystrobe's user own it: chown pystrobe: DIRECTORY";
    case EROFS:
        return "name a directory on a file system that can be written";
    case ENOSPC:
    case EDQUOT:
        return "make room on that disk, or name a directory on another";
    case ENOTDIR:
        return "name a directory, not a file";
    default:
        return "name a directory that can be written";
    }
}

static void examine_folder(struct findings *out, const char *check, const char *path,
                           uint64_t min_free)
{
    char folder[PATH_BYTES];
    struct statvfs disk;
    uint64_t left;
    int cause;

    nearest_folder(path, folder);
    cause = try_file(folder);
    if (cause != 0 || statvfs(folder, &disk) != 0) {
        findings_add(out, FINDING_BAD, check, cure_of_folder(cause), "%s: %s", folder,
                     strerror(cause ? cause : errno));
        return;
    }
    left = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (left < min_free)
        findings_add(out, FINDING_BAD, check, cure_of_folder(ENOSPC),
                     "%s: %llu MiB free, and spool_min_free is %llu MiB", folder,
                     (unsigned long long)left >> 20, (unsigned long long)min_free >> 20);
    else
        findings_add(out, FINDING_GOOD, check, "", "%s%s can be written, %llu MiB free", folder,
                     strcmp(folder, path) != 0 ? ", where it will be made," : "",
                     (unsigned long long)left >> 20);
}

void examine_folders(struct findings *out, const struct conf *conf)
{
    char check[128];
    size_t i;

    if (conf->agent.spool && strcmp(conf->agent.spool, "off") != 0)
        examine_folder(out, "spool", conf->agent.spool, conf->agent.spool_min_free_bytes);
    for (i = 0; i < conf->exporter_count; i++) {
        if (!conf->exporters[i].path)
            continue;
        (void)snprintf(check, sizeof(check), "exporter %s", conf->exporters[i].name);
        examine_folder(out, check, conf->exporters[i].path, 0);
    }
}
