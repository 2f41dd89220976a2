/* SPDX-License-Identifier: Apache-2.0 */
/* preview.c - see preview.h. */
#include "agent/cli/preview.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/discover/match.h"
#include "agent/discover/naming.h"
#include "agent/discover/proc_info.h"
#include "agent/discover/proc_reader.h"
#include "agent/host/escape.h"
#include "agent/proc/ptrace_access.h"
#include "unwind/cpy.h"

enum { COMMAND_SHOWN = 60, OUTPUT_MAX = 16 << 20, WHY_MAX = 4096 };

struct sight {
    const struct conf *conf;    /* borrowed */
    struct matcher *matcher;    /* owned */
    struct proc_info *info;     /* owned */
    struct proc_reader *reader; /* owned */
    struct buf wanted, left;    /* owned: the lines of both kinds */
    size_t wanted_count, left_count, others;
};

static void add_command(struct sight *sight, struct buf *out, pid_t pid)
{
    const char *command;
    size_t size;

    proc_info_begin(sight->info, pid);
    command = proc_info_command_line(sight->info);
    size = strlen(command);
    escape_add(out, command, size < COMMAND_SHOWN ? size : COMMAND_SHOWN);
    buf_add_str(out, size < COMMAND_SHOWN ? "\n" : "...\n");
}

static void add_preview_labels(struct buf *out, const struct labels *labels)
{
    const char *name, *value;
    size_t at = 0;

    while (labels_next(labels, &at, &name, &value)) {
        buf_add_str(out, " ");
        buf_add_str(out, name);
        buf_add_str(out, "=");
        escape_add_str(out, value);
    }
}

static void add_wanted(struct sight *sight, pid_t pid, const struct target_profile *profile,
                       const char *version)
{
    buf_add_fmt(&sight->wanted, "  %7d  Python %-8s  %gHz  ", (int)pid, version, profile->rate_hz);
    escape_add_str(&sight->wanted, profile->service);
    add_preview_labels(&sight->wanted, &profile->labels);
    buf_add_str(&sight->wanted, "\n           called so by ");
    escape_add_str(&sight->wanted, profile->named_by);
    proc_info_begin(sight->info, pid);
    naming_explain(sight->info, &sight->wanted);
    buf_add_str(&sight->wanted, "\n           ");
    add_command(sight, &sight->wanted, pid);
    sight->wanted_count++;
}

static void add_left(struct sight *sight, pid_t pid, const char *why)
{
    buf_add_fmt(&sight->left, "  %7d  ", (int)pid);
    escape_add_str(&sight->left, why);
    buf_add_str(&sight->left, "\n           ");
    add_command(sight, &sight->left, pid);
    sight->left_count++;
}

/* A Python that no section has chosen: why it is left alone. */
static void add_unwanted(struct sight *sight, pid_t pid)
{
    struct buf why;

    buf_init(&why, WHY_MAX);
    proc_info_begin(sight->info, pid);
    if (naming_is_disabled(sight->info)) {
        buf_add_str(&why, "PYSTROBE_DISABLE is set in its environment");
    } else if (sight->conf->target_count == 0) {
        buf_add_str(&why, "there is no [target] section");
    } else {
        buf_add_str(&why, "no [target] section is for it: ");
        matcher_explain(sight->matcher, pid, &why);
    }
    add_left(sight, pid, buf_failed(&why) ? "out of memory" : buf_text(&why));
    buf_finish(&why);
}

/* A process that is not to be read: told if it is wanted, or looks like a Python. */
static void look_at_closed(struct sight *sight, const struct proc_stat *stat, pid_t pid,
                           bool wanted)
{
    char why[320];

    if (!wanted && !strstr(stat->name, "python")) {
        sight->others++;
        return;
    }
    ptrace_access_explain(ptrace_access_find(pid), why, sizeof(why));
    add_left(sight, pid, why);
}

/* By its name, or as it runs one that is not known here. */
static bool looks_like_python(const struct proc_stat *stat, const struct err *err)
{
    return strstr(stat->name, "python") || strstr(err->text, "not known to this pystrobe") ||
           strstr(err->text, "PyPy");
}

static void preview_process(struct sight *sight, pid_t pid)
{
    struct target_profile profile = {0};
    struct cpy_target *target = NULL;
    struct proc_stat stat;
    struct err err = {""};
    enum cpy_rc rc;
    bool wanted;

    if (proc_stat_read(pid, &stat) != PROC_OK || proc_stat_is_ended(&stat))
        return;
    if (stat.is_kernels) {
        sight->others++;
        return;
    }
    proc_info_begin(sight->info, pid);
    (void)proc_info_command_line(sight->info);
    if (proc_info_is_unknown(sight->info)) {
        add_left(sight, pid, "it blocks whoever reads its command line");
        return;
    }
    wanted = matcher_choose(sight->matcher, pid, &profile);
    rc = cpy_open(pid, &target, &err);
    if (rc == CPY_OK && wanted) {
        naming_complete(&profile, pid, cpy_info(target)->version);
        add_wanted(sight, pid, &profile, cpy_info(target)->version);
    } else if (rc == CPY_OK && profile.unknown) {
        add_left(sight, pid, "what it is could not be read now");
    } else if (rc == CPY_OK) {
        add_unwanted(sight, pid);
    } else if (rc == CPY_DENIED) {
        look_at_closed(sight, &stat, pid, wanted);
    } else if (rc == CPY_FOREIGN && !looks_like_python(&stat, &err)) {
        sight->others++;
    } else if (rc != CPY_GONE) {
        add_left(sight, pid, err.text[0] ? err.text : cpy_rc_text(rc));
    }
    cpy_close(target);
}

static bool preview_one(void *ctx, pid_t pid, uint64_t inode)
{
    (void)inode;
    if (pid != getpid())
        preview_process(ctx, pid);
    return true;
}

static void add_preview_section(struct buf *out, const char *title, size_t count,
                                const struct buf *lines)
{
    buf_add_fmt(out, "%s%zu\n", title, count);
    buf_add(out, lines->data, lines->size);
}

bool preview(const struct conf *conf, struct buf *out)
{
    const struct buf nothing = {NULL, 0, 0, 0, false};
    struct sight sight = {.conf = conf,
                          .matcher = matcher_new(conf),
                          .info = proc_info_new(),
                          .reader = proc_reader_new(CHILD_PROCESS_SELF)};
    bool good = sight.matcher && sight.info && sight.reader;

    buf_init(&sight.wanted, OUTPUT_MAX);
    buf_init(&sight.left, OUTPUT_MAX);
    if (good) {
        matcher_use_reader(sight.matcher, sight.reader);
        proc_info_use_reader(sight.info, sight.reader);
    }
    good = good &&
           proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), preview_one, &sight) == PROC_OK;
    if (good) {
        add_preview_section(out, "would be sampled: ", sight.wanted_count, &sight.wanted);
        add_preview_section(out, "Pythons that would not: ", sight.left_count, &sight.left);
        add_preview_section(out, "processes that run no Python: ", sight.others, &nothing);
    }
    good = good && !buf_failed(&sight.wanted) && !buf_failed(&sight.left) && !buf_failed(out);
    buf_finish(&sight.wanted);
    buf_finish(&sight.left);
    matcher_free(sight.matcher);
    proc_info_free(sight.info);
    proc_reader_free(sight.reader);
    return good;
}
