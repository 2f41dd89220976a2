/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - opens a live process: its memory; finds its interpreter, and tries a version that is not
 * known. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unwind/target.h"

static void count_torn_or_whole(void *ctx, const struct cpy_thread *thread)
{
    size_t *counts = ctx;

    counts[thread->torn] += thread->torn || thread->depth > 0;
}

/* A version that nobody has checked is read only if its frames make sense. */
static enum cpy_rc try_unproven(struct cpy_target *t, struct err *err)
{
    enum { SAMPLES = 20 };
    size_t counts[2] = {0, 0}; /* whole, torn */
    enum cpy_rc rc = CPY_OK;

    if (layout_is_proven(t->found.hexversion))
        return CPY_OK;
    for (int i = 0; i < SAMPLES && rc == CPY_OK; i++)
        rc = cpy_sample(t, count_torn_or_whole, counts);
    if (rc == CPY_GONE || rc == CPY_DENIED || rc == CPY_NOMEM) {
        err_set(err, "reading its stacks: %s", cpy_rc_text(rc));
        return rc;
    }
    if (counts[0] == 0 || counts[1] * 2 > counts[0]) {
        err_set(err,
                "CPython %s is not known to this pystrobe, and its stacks do not read like "
                "those of the versions that are: 3.6 to 3.15",
                t->info.version);
        return CPY_FOREIGN;
    }
    (void)snprintf(t->info.warning, sizeof(t->info.warning),
                   "CPython %s is newer than this pystrobe, or no final release: its stacks read "
                   "well so far, but nobody has checked them",
                   t->info.version);
    return CPY_OK;
}

static enum cpy_rc open_proc(pid_t pid, int *out_fd, struct err *err)
{
    *out_fd = proc_file_open(AT_FDCWD, "/proc/%d", (int)pid);
    if (*out_fd >= 0)
        return CPY_OK;
    if (errno == ENOENT)
        err_set(err, "there is no such process");
    else
        err_set(err, "/proc/%d: %s", (int)pid, strerror(errno));
    return mem_rc_of_proc(proc_rc_of_errno(errno));
}

enum cpy_rc cpy_memory_open(pid_t pid, struct mem **out, struct err *err)
{
    int proc_fd;
    enum cpy_rc rc = open_proc(pid, &proc_fd, err);

    if (rc != CPY_OK)
        return rc;
    rc = mem_open_process(pid, proc_fd, out, err);
    if (rc == CPY_OK)
        mem_own_dir(*out);
    else
        (void)close(proc_fd);
    return rc;
}

enum cpy_rc cpy_memory_read(struct mem *mem, cpy_addr from, void *into, size_t size)
{
    return mem_read(mem, from, into, size);
}

void cpy_memory_close(struct mem *mem)
{
    mem_close(mem);
}

bool cpy_find_another(const struct cpy_target *t, struct cpy_info *out)
{
    struct found found = {.binary = {.file = ""}};

    if (t->process.proc_fd < 0 ||
        find_another(t->process.mem, t->process.proc_fd, &t->found, &found) != CPY_OK)
        return false;
    *out = (struct cpy_info){.hexversion = found.hexversion,
                             .free_threaded = found.layout.free_threaded,
                             .binary = found.binary};
    layout_version_text(found.hexversion, out->version, sizeof(out->version));
    return true;
}

/* Finds the interpreter, at first where the parent has it that has forked the process, if any. */
static enum cpy_rc find_interpreter(struct cpy_target *t, const struct cpy_target *parent,
                                    struct err *err)
{
    if (parent) {
        t->found = parent->found;
        if (find_accept(t->process.mem, t->found.hexversion, &t->found, NULL) == CPY_OK)
            return CPY_OK;
        t->found = (struct found){.runtime = 0};
    }
    return find_runtime(t->process.mem, t->process.proc_fd, &t->found, err);
}

enum cpy_rc cpy_open(pid_t pid, struct cpy_target **out, struct err *err)
{
    return cpy_open_forked(pid, NULL, out, err);
}

enum cpy_rc cpy_open_forked(pid_t pid, const struct cpy_target *parent, struct cpy_target **out,
                            struct err *err)
{
    struct cpy_target *t = target_new();
    enum cpy_rc rc = CPY_NOMEM;

    if (!t) {
        err_set(err, "process %d: out of memory", (int)pid);
        return rc;
    }
    t->process.pid = pid;
    rc = open_proc(pid, &t->process.proc_fd, err);
    if (rc != CPY_OK)
        goto fail;
    rc = mem_rc_of_proc(tids_init(&t->process.tids, t->process.proc_fd));
    if (rc != CPY_OK) {
        err_set(err, "its status: %s", strerror(errno));
        goto fail;
    }
    cpu_pin_init(&t->cpu_pin, t->process.proc_fd);
    rc = mem_open_process(pid, t->process.proc_fd, &t->process.mem, err);
    if (rc != CPY_OK)
        goto fail;
    rc = find_interpreter(t, parent, err);
    if (rc != CPY_OK)
        goto fail;
    target_choose_readers(t);
    rc = try_unproven(t, err);
    if (rc != CPY_OK)
        goto fail;
    *out = t;
    return CPY_OK;

fail: /* whatever is not there yet, cpy_close passes over */
    if (err && !err->text[0])
        err_set(err, "%s", cpy_rc_text(rc));
    err_within(err, "process %d", (int)pid);
    cpy_close(t);
    return rc;
}
