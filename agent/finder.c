/* SPDX-License-Identifier: Apache-2.0 */
/* finder.c - see finder.h. */
#include "agent/finder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/candidates.h"
#include "agent/clock.h"
#include "agent/log.h"

#define WAIT_FIRST_NS (10 * NS_PER_MS)
#define WAIT_MAX_NS   (60 * NS_PER_S)
#define EAGER_SCAN_NS (20 * NS_PER_MS)

struct finder {
    struct finder_settings settings;
    struct candidates candidates;
    size_t taken;  /* now */
    uint64_t scan; /* counts scans */
    uint64_t next_scan_ns;
    pid_t self;
};

struct finder *finder_new(const struct finder_settings *settings)
{
    struct finder *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->settings = *settings;
    f->self = getpid();
    return f;
}

uint64_t finder_next_ns(const struct finder *f)
{
    return f->next_scan_ns;
}

/* The candidate with this identity that was taken; NULL: it is known no more. */
static struct candidate *taken(struct finder *f, struct proc_id id)
{
    struct candidate *c = candidates_find(&f->candidates, id.pid);

    return c && c->id.start == id.start && c->state == CANDIDATE_TAKEN ? c : NULL;
}

/* Says once why a process is not sampled. */
static void explain(struct candidate *c, enum cpy_rc rc, const struct err *err)
{
    char cure[256] = "";

    /* A process that has just begun may become Python yet. */
    if (c->told || rc == CPY_GONE || c->wait_ns < NS_PER_S)
        return;
    c->told = true;
    if (rc == CPY_DENIED)
        proc_explain_denied(c->id.pid, cure, sizeof(cure));
    log_line(rc == CPY_DENIED ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "not sampled for now: %s%s%s",
             err->text, cure[0] ? "; " : "", cure);
}

void finder_put_off(struct finder *f, struct proc_id id, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    f->taken--;
    c->state = CANDIDATE_WAITING;
    c->wait_ns = c->wait_ns ? c->wait_ns * 2 : WAIT_FIRST_NS;
    if (c->wait_ns > WAIT_MAX_NS)
        c->wait_ns = WAIT_MAX_NS;
    c->next_try_ns = now_ns + c->wait_ns;
    explain(c, rc, err);
}

void finder_began(struct finder *f, struct proc_id id)
{
    struct candidate *c = taken(f, id);

    if (c)
        c->wait_ns = 0;
}

void finder_ended(struct finder *f, struct proc_id id)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    f->taken--;
    c->state = CANDIDATE_UNWANTED;
}

/* A process is not there any more. */
static void lose(void *ctx, struct candidate *c)
{
    struct finder *f = ctx;

    if (c->state != CANDIDATE_TAKEN)
        return;
    c->state = CANDIDATE_UNWANTED;
    f->taken--;
    f->settings.lost(f->settings.ctx, c->id);
}

/* Looks at one process of /proc. */
static void consider(struct finder *f, pid_t pid, uint64_t now_ns)
{
    struct candidate *c = candidates_find(&f->candidates, pid);
    struct proc_stat stat;
    struct choice choice = {0};

    if (c && c->state == CANDIDATE_TAKEN) {
        c->scan = f->scan;
        return;
    }
    if (!proc_read_stat(pid, &stat) || stat.state == 'Z')
        return;
    if (c && c->id.start != stat.start) /* another process has the number now */
        *c = (struct candidate){.id = {pid, stat.start}, .next = c->next};
    else if (!c)
        c = candidates_add(&f->candidates, (struct proc_id){pid, stat.start});
    if (!c)
        return;
    c->scan = f->scan;
    if (c->state == CANDIDATE_WAITING && now_ns < c->next_try_ns)
        return;
    if (!f->settings.choose(f->settings.choose_ctx, pid, &stat, &choice)) {
        c->state = CANDIDATE_UNWANTED;
        return;
    }
    c->state = CANDIDATE_TAKEN;
    f->taken++;
    f->settings.take(f->settings.ctx, c->id, &choice);
}

static bool was_missing(void *ctx, const struct candidate *c)
{
    const struct finder *f = ctx;

    return c->scan != f->scan;
}

/* Looks at all processes; false: /proc cannot be read. */
static bool consider_all(struct finder *f, uint64_t now_ns)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    long pid;

    if (!dir) {
        log_line(LOG_LEVEL_ERROR, "/proc cannot be read: %s", strerror(errno));
        return false;
    }
    while ((entry = readdir(dir))) {
        pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != f->self)
            consider(f, (pid_t)pid, now_ns);
    }
    (void)closedir(dir);
    return true;
}

void finder_scan(struct finder *f, uint64_t now_ns)
{
    uint64_t every = f->settings.scan_ns;

    if (f->settings.eager) /* a command's children come and go with it */
        every = f->taken == 0 ? EAGER_SCAN_NS : EAGER_SCAN_NS * 10;
    f->next_scan_ns = now_ns + every;
    f->scan++;
    if (f->settings.only)
        consider(f, f->settings.only, now_ns);
    else if (!consider_all(f, now_ns))
        return;
    candidates_sweep(&f->candidates, was_missing, lose, f);
}

static bool always(void *ctx, const struct candidate *c)
{
    (void)ctx;
    (void)c;
    return true;
}

static void forget(void *ctx, struct candidate *c)
{
    (void)ctx;
    (void)c;
}

void finder_free(struct finder *f)
{
    if (!f)
        return;
    candidates_sweep(&f->candidates, always, forget, NULL);
    free(f);
}
