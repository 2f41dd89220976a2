/* SPDX-License-Identifier: Apache-2.0 */
/* finder.c - see finder.h. */
#include "agent/discover/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/discover/candidates.h"
#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/proc/execs.h"
#include "agent/proc/namespaces.h"
#include "agent/proc/ptrace_access.h"

#define WAIT_FIRST_NS       (10 * NS_PER_MS)
#define WAIT_STARTING_NS    NS_PER_S
#define WAIT_MAX_NS         (60 * NS_PER_S)
#define WAIT_SHORT_NS       (10 * NS_PER_S) /* for what ends with other processes */
#define REFUSED_FIRST_NS    (60 * NS_PER_S)
#define REFUSED_MAX_NS      (3600 * NS_PER_S)
#define DENIED_LOG_DELAY_NS (NS_PER_S / 2) /* a program that drops its user execs by then */
#define FOREIGN_FIRST_NS    (2 * NS_PER_S) /* so long a program may take to load its Python */
#define FOREIGN_MAX_NS      (3600 * NS_PER_S)
#define UNWANTED_FIRST_NS   NS_PER_S /* one that is young may change its user or its cgroup yet */
#define UNWANTED_MAX_NS     (600 * NS_PER_S)
#define TAKEN_CHECK_NS      (5 * NS_PER_S)
#define SOON_NS             (20 * NS_PER_MS) /* between scans, while processes come */
#define SOON_FOR_NS         (2 * NS_PER_S)
#define CATCH_UP_NS         (50 * NS_PER_MS)
#define SCAN_SLOWEST_NS     (5 * NS_PER_S) /* between scans, to save CPU time */
#define WHOLE_NS            (5 * NS_PER_S) /* /proc is read at least so often */

/* Nobody execs with less CPU time: the smallest program takes 0.5 ms to start, a Python 5 ms. And
 * one that wakes up once a second, with 0.02 ms each time, is seldom worth more than its clock. */
#define EXEC_CPU_NS (NS_PER_MS / 10)

#define CPU_WEIGHT 0.1 /* of one scan, in what scans take */

#define BIRTH_NS (3 * NS_PER_MS) /* most children that execute a program have done so by then */

#define SOON_PART 0.3 /* of the limit, for scans while processes come: samples need the rest */

/* What one scan does at most: the samples of others wait for it. To look at processes once more
 * leaves room for those that are new or run another program, which are to be found at once. */
enum { LOOKS_MAX = 500, LOOKS_AGAIN_MAX = 400, TAKES_MAX = 32 };

enum { BIRTHS_MAX = 64 }; /* of more that wait to be looked at, scans find the others */

/* Where no more numbers were handed out, these are looked up instead of reading all of /proc: 0.4
 * us for one that is a thread's or nobody's any more; the directory takes 2.5 us a process. */
enum { NUMBERS_MAX = 1000 };

struct finder {
    struct finder_settings settings;
    struct finder_stats stats;
    struct candidates candidates;
    size_t counts[CANDIDATE_STATES];
    size_t left_out[FINDER_REASONS]; /* [0]: those that are not */
    uint64_t since; /* clock ticks after boot: of what began later, all CPU time counts */
    uint64_t scan;  /* counts scans */
    uint64_t next_scan_ns;
    uint64_t next_poll_ns;    /* for execs: not in each of the scans that catch up or come soon */
    uint64_t soon_until_ns;   /* until then scans come soon */
    bool polls;               /* this scan looks for them */
    double share;             /* of a core, that scans may take; 0: no limit */
    double cpu_ns;            /* that one scan takes, but for looks: */
    double looks_ns;          /* that those of this scan took, which are due at their time anyway */
    unsigned looks, takes;    /* of this scan */
    bool behind;              /* there was more to do than one scan may */
    unsigned warned;          /* of which obstacles, a bit each */
    bool warned_short;        /* of a lack of descriptors or memory */
    bool overrun;             /* the kernel could not tell of all execs since the last poll */
    int execs_fd;             /* owned; -1: none */
    int births_fd;            /* owned; -1: none */
    uint64_t next_births_ns;  /* monotonic: births_fd is not read before */
    pid_t births[BIRTHS_MAX]; /* processes that were started, and are to be looked at */
    size_t birth_count;
    uint64_t births_due_ns;    /* monotonic: when that is; UINT64_MAX: there are none */
    bool watch_changed;        /* other processes are taken than births_fd tells of */
    int census_fd;             /* owned; -1: none */
    struct proc_census census; /* of the last scan, */
    pid_t newest_before;       /* and of the one before that */
    uint64_t next_whole_ns;
    pid_t self;
};

/* What is handed through candidates_each. */
struct reconsidered {
    struct finder *finder;
    bool (*holds)(void *ctx, struct proc_id id, const struct target_profile *profile);
};

/* Reports no child yet, as no process is taken. -1: the kernel does not report. */
static int open_births(void)
{
    const int fd = forks_open();

    if (fd < 0 || forks_watch(fd, NULL, 0))
        return fd;
    (void)close(fd);
    return -1;
}

struct finder *finder_new(const struct finder_settings *settings)
{
    struct finder *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->settings = *settings;
    f->since = proc_ticks_now();
    f->self = getpid();
    f->execs_fd = settings->polls ? -1 : execs_open();
    f->births_fd = settings->polls || settings->only ? -1 : open_births();
    f->births_due_ns = UINT64_MAX;
    f->census_fd =
        namespaces_have_own_proc() && proc_is_process(f->self) ? proc_open_loadavg() : -1;
    return f;
}

uint64_t finder_next_ns(const struct finder *f)
{
    return f->births_due_ns < f->next_scan_ns ? f->births_due_ns : f->next_scan_ns;
}

void finder_stats(const struct finder *f, struct finder_stats *out)
{
    *out = f->stats;
    out->known = f->candidates.count;
    out->foreign = f->counts[CANDIDATE_FOREIGN];
    out->waiting = f->counts[CANDIDATE_WAITING];
    out->taken = f->counts[CANDIDATE_TAKEN];
    memcpy(out->left_out, f->left_out, sizeof(out->left_out));
    out->left_out[0] = 0;
    out->notices = f->execs_fd >= 0;
}

/* Counts why a process is left out; 0: it is not. */
static void set_left_out(struct finder *f, struct candidate *c, size_t reason)
{
    f->left_out[c->left_out]--;
    f->left_out[reason]++;
    c->left_out = (uint8_t)reason;
}

static void set_state(struct finder *f, struct candidate *c, enum candidate_state state)
{
    f->watch_changed |= c->state == CANDIDATE_TAKEN || state == CANDIDATE_TAKEN;
    f->counts[c->state]--;
    f->counts[state]++;
    c->state = state;
    if (state != CANDIDATE_WAITING && state != CANDIDATE_TAKEN)
        set_left_out(f, c, 0);
}

/* Tries it again later, each time after twice the time. */
static void wait_longer(struct candidate *c, uint64_t first_ns, uint64_t max_ns, uint64_t now_ns)
{
    c->wait_ns = c->wait_ns ? c->wait_ns * 2 : first_ns;
    if (c->wait_ns > max_ns)
        c->wait_ns = max_ns;
    c->next_try_ns = now_ns + c->wait_ns;
}

/* The candidate with this identity that was taken; NULL: it is known no more. */
static struct candidate *taken(struct finder *f, struct proc_id id)
{
    struct candidate *c = candidates_find(&f->candidates, id.pid);

    return c && c->id.start == id.start && c->state == CANDIDATE_TAKEN ? c : NULL;
}

/* What to do about a lack of descriptors or memory. */
static const char short_cure[] =
    "processes are left out until others end: raise the limit of open files (LimitNOFILE= of the "
    "service, ulimit -n), or give pystrobe more memory; pystrobe status counts them";

/* Says once why a process is not sampled. That it is no Python is nothing to tell. What keeps us
 * from one keeps us from many: it is a warning once, for they all take the same cure. */
static void log_unsampled_reason(struct finder *f, struct candidate *c, enum cpy_rc rc,
                                 const struct err *err, uint64_t now_ns)
{
    bool early = rc == CPY_DENIED ? now_ns - c->run_ns < DENIED_LOG_DELAY_NS
                                  : c->wait_ns < NS_PER_S && c->left_out != CPY_NOMEM;
    enum log_level level = LOG_LEVEL_INFO;
    enum ptrace_access access;
    char cure[320] = "";

    if (c->logged || rc == CPY_GONE || rc == CPY_FOREIGN || early)
        return;
    if (rc == CPY_DENIED) {
        access = ptrace_access_find(c->id.pid);
        if (access == PTRACE_ACCESS_GONE)
            return;
        level = (f->warned & 1u << access) != 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING;
        f->warned |= 1u << access;
        ptrace_access_explain(access, cure, sizeof(cure));
    }
    if (c->left_out == CPY_NOMEM) {
        level = f->warned_short ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING;
        f->warned_short = true;
        (void)snprintf(cure, sizeof(cure), "%s", short_cure);
    }
    c->logged = true;
    log_line(level, "not sampled for now: %s%s%s", err->text, cure[0] ? "; " : "", cure);
}

/* Longest time until a process is tried again that could not be sampled for this reason. */
static uint64_t longest_wait_ns(enum cpy_rc rc)
{
    return rc == CPY_STARTING ? WAIT_STARTING_NS : rc == CPY_NOMEM ? WAIT_SHORT_NS : WAIT_MAX_NS;
}

void finder_put_off(struct finder *f, struct proc_id id, enum cpy_rc rc, const struct err *err,
                    uint64_t now_ns)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    if (rc == CPY_FOREIGN && now_ns - c->run_ns >= FOREIGN_FIRST_NS) {
        set_state(f, c, CANDIDATE_FOREIGN);
        wait_longer(c, FOREIGN_FIRST_NS, FOREIGN_MAX_NS, now_ns);
        return;
    }
    set_state(f, c, CANDIDATE_WAITING);
    set_left_out(f, c, rc);
    wait_longer(c, WAIT_FIRST_NS, longest_wait_ns(rc), now_ns);
    log_unsampled_reason(f, c, rc, err, now_ns);
}

void finder_refuse(struct finder *f, struct proc_id id, const struct err *err, uint64_t now_ns)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    set_state(f, c, CANDIDATE_WAITING);
    set_left_out(f, c, FINDER_BUDGET);
    c->wait_ns = REFUSED_FIRST_NS << c->refusals;
    c->next_try_ns = now_ns + c->wait_ns;
    if (c->wait_ns < REFUSED_MAX_NS)
        c->refusals++;
    log_unsampled_reason(f, c, CPY_NOMEM, err, now_ns);
}

void finder_refuse_owner(struct finder *f, struct proc_id id, uint64_t now_ns)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    set_state(f, c, CANDIDATE_WAITING);
    set_left_out(f, c, FINDER_OWNER);
    wait_longer(c, WAIT_FIRST_NS, WAIT_SHORT_NS, now_ns);
}

const char *finder_reason_label(size_t reason)
{
    return reason == FINDER_BUDGET  ? "budget"
           : reason == FINDER_OWNER ? "owner"
                                    : cpy_rc_label((enum cpy_rc)reason);
}

/* One that was put off for lack of descriptors or memory may have them now. */
static void retry_if_short(void *ctx, struct candidate *c)
{
    (void)ctx;
    if (c->state == CANDIDATE_WAITING && c->left_out == CPY_NOMEM)
        c->wait_ns = c->next_try_ns = 0;
}

/* A process that was taken is sampled no more, so that others may be. */
static void note_room(struct finder *f)
{
    if (f->left_out[CPY_NOMEM] > 0)
        candidates_each(&f->candidates, retry_if_short, NULL);
}

bool finder_began(struct finder *f, struct proc_id id)
{
    struct candidate *c = taken(f, id);
    bool first = c && !c->sampled;

    if (!c)
        return false;
    set_left_out(f, c, 0);
    c->wait_ns = 0;
    c->next_try_ns = clock_mono_ns() + TAKEN_CHECK_NS;
    c->sampled = true;
    return first;
}

void finder_ended(struct finder *f, struct proc_id id)
{
    struct candidate *c = taken(f, id);

    if (!c)
        return;
    set_state(f, c, CANDIDATE_NEW);
    note_room(f);
}

/* A process is not there any more, or runs something else: its taker is to let it go. */
static void release_candidate(struct finder *f, struct candidate *c)
{
    bool was_taken = c->state == CANDIDATE_TAKEN;

    set_state(f, c, CANDIDATE_NEW);
    if (!was_taken)
        return;
    f->settings.lost(f->settings.ctx, c->id);
    note_room(f);
}

/* Forgets what was found out of the program that a process ran. */
static void begin_program(struct finder *f, struct candidate *c, uint64_t now_ns)
{
    release_candidate(f, c);
    c->wait_ns = c->next_try_ns = 0;
    c->logged = false;
    c->run_ns = now_ns;
    c->old_ns = 0;
}

/* Reads what tells that a process runs another program; its clock first, so that an exec in
 * between counts as one after. */
static uint64_t read_mark(struct finder *f, struct candidate *c)
{
    uint64_t mark = c->mark; /* it cannot be read: nothing says that it is another one */

    f->stats.checks++;
    if (!proc_clock_ns(c->clock, &c->cpu_ns))
        c->cpu_ns = 0;
    if (!c->runs_deep)
        return proc_exe_mark(c->id.pid);
    return proc_exec_mark(c->id.pid, &mark) == PROC_GONE ? 0 : mark;
}

/*
 * Keeps how to tell that a process execs. The executable will do for those that run no
 * Python; Pythons may run another script with the same one.
 */
static void store_mark(struct finder *f, struct candidate *c, const struct proc_stat *stat)
{
    c->fixed = stat->is_kernels || proc_stat_is_ended(stat);
    c->runs_deep = false;
    c->marked_ns = clock_mono_ns();
    if (!proc_clock(c->id.pid, &c->clock))
        c->clock = CLOCK_MONOTONIC; /* as if it always ran */
    c->mark = c->fixed ? 0 : read_mark(f, c);
    if (c->fixed || (c->mark && !strstr(stat->name, "python")))
        return;
    c->runs_deep = true;
    c->mark = read_mark(f, c);
}

/* Tries new rules on a process; see finder_reconsider. */
static void reconsider(void *ctx, struct candidate *c)
{
    struct reconsidered *r = ctx;
    struct finder *f = r->finder;
    struct target_profile profile = {0};
    struct proc_stat stat;
    enum proc_rc rc = c->state == CANDIDATE_TAKEN ? proc_stat_read(c->id.pid, &stat) : PROC_GONE;

    if (rc == PROC_FAILED) /* it keeps its profile */
        return;
    if (rc == PROC_OK && f->settings.choose(f->settings.choose_ctx, c->id.pid, &stat, &profile) &&
        r->holds(f->settings.ctx, c->id, &profile))
        return;
    release_candidate(f, c);
    c->wait_ns = c->next_try_ns = 0;
    c->logged = false;
}

void finder_reconsider(struct finder *f, uint64_t scan_ns,
                       bool (*holds)(void *ctx, struct proc_id id,
                                     const struct target_profile *profile))
{
    struct reconsidered all = {f, holds};

    f->settings.scan_ns = scan_ns;
    f->since = proc_ticks_now(); /* what was not meant until now was not asked for */
    f->next_scan_ns = 0;
    candidates_each(&f->candidates, reconsider, &all);
}

void finder_limit(struct finder *f, double share)
{
    f->share = share;
}

/* Time between two scans of `asked` ns, or longer so that they take no more than `share`. */
static uint64_t scan_period(const struct finder *f, uint64_t asked_ns, double share)
{
    const double asked = (double)asked_ns;
    const double needed = share > 0 ? f->cpu_ns / share : 0;
    const double slowest = asked > SCAN_SLOWEST_NS ? asked : SCAN_SLOWEST_NS;

    return (uint64_t)(needed < asked ? asked : needed < slowest ? needed : slowest);
}

/* CPU time that this thread has used. */
static double used_ns(void)
{
    struct timespec used = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)timespec_to_ns(used);
}

/* Tries the rules on a process, and has it taken if it is wanted. */
static void match_candidate(struct finder *f, struct candidate *c, const struct proc_stat *stat,
                            uint64_t now_ns)
{
    struct target_profile profile = {0};
    struct err err;

    f->looks++;
    f->stats.looks++;
    store_mark(f, c, stat);
    if (c->fixed || !f->settings.choose(f->settings.choose_ctx, c->id.pid, stat, &profile)) {
        set_state(f, c, CANDIDATE_UNWANTED);
        wait_longer(c, c->old_ns > UNWANTED_FIRST_NS ? c->old_ns : UNWANTED_FIRST_NS,
                    profile.unknown ? WAIT_SHORT_NS : UNWANTED_MAX_NS, now_ns);
        return;
    }
    if (!c->runs_deep) {
        c->runs_deep = true;
        c->mark = read_mark(f, c);
    }
    f->takes++;
    profile.from_birth = !c->sampled && c->id.start >= f->since;
    set_state(f, c, CANDIDATE_TAKEN);
    if (proc_shares_memory(c->id.pid, stat->parent)) {
        err_set(&err, "process %d has not yet begun a program of its own (vfork)", (int)c->id.pid);
        finder_put_off(f, c->id, CPY_STARTING, &err, now_ns);
        return;
    }
    f->settings.take(f->settings.ctx, c->id, &profile);
}

/*
 * True if a process ran for long enough since its mark was read to have begun another program.
 * Cost: 0.2 to 0.4 us, where a mark takes 2 to 5; most processes of a host sleep.
 */
static bool has_run(const struct candidate *c)
{
    uint64_t cpu_ns;

    return !proc_clock_ns(c->clock, &cpu_ns) || cpu_ns - c->cpu_ns >= EXEC_CPU_NS;
}

/* True if a process that is known may run another program by now. */
static bool has_execed(struct finder *f, struct candidate *c, uint64_t now_ns)
{
    if (c->fixed)
        return false;
    if (c->execed_ns > c->marked_ns)
        return true; /* what it runs now was not looked at, even if it has the same mark */
    if (!f->polls)
        return false;
    if (c->state != CANDIDATE_TAKEN)
        return has_run(c) && read_mark(f, c) != c->mark;
    if (now_ns < c->next_try_ns)
        return false;
    c->next_try_ns = now_ns + TAKEN_CHECK_NS;
    return read_mark(f, c) != c->mark;
}

/* True if a known process is to be looked at. Whoever took one tells when it ends. */
static bool is_due(struct finder *f, struct candidate *c, uint64_t now_ns)
{
    if (c->state == CANDIDATE_NEW)
        return true;
    if (has_execed(f, c, now_ns)) {
        begin_program(f, c, now_ns);
        return true;
    }
    return c->state != CANDIDATE_TAKEN && !c->fixed && now_ns >= c->next_try_ns;
}

/* True if this scan may look at one more process. */
static bool has_room(const struct finder *f, const struct candidate *c, uint64_t inode)
{
    const bool again = c && c->state != CANDIDATE_NEW && c->inode == inode;

    return f->looks < (again ? LOOKS_AGAIN_MAX : LOOKS_MAX) && f->takes < TAKES_MAX;
}

static struct candidate *add_new_candidate(struct finder *f, struct proc_id id, uint64_t now_ns)
{
    struct candidate *c =
        f->candidates.count < FINDER_MAX ? candidates_add(&f->candidates, id) : NULL;

    if (!c)
        return NULL;
    f->counts[CANDIDATE_NEW]++;
    f->left_out[0]++;
    c->run_ns = now_ns;
    c->old_ns = proc_age_ns(id.start);
    return c;
}

/* Looks at one that there is room for; `c`: the candidate of this number, NULL: there is none. */
static void examine_process_id(struct finder *f, struct candidate *c, pid_t pid, uint64_t inode,
                               uint64_t now_ns)
{
    struct proc_stat stat;
    enum proc_rc rc = proc_stat_read(pid, &stat);

    if (rc == PROC_FAILED && !c)
        f->next_whole_ns = 0; /* only /proc leads back to it */
    if (rc != PROC_OK && rc != PROC_FAILED && c)
        c->scan--; /* it is gone */
    if (rc != PROC_OK)
        return;
    if (c && c->id.start != stat.start) { /* another process has the number now */
        begin_program(f, c, now_ns);
        c->id.start = stat.start;
        c->sampled = false;
    } else if (!c) {
        c = add_new_candidate(f, (struct proc_id){pid, stat.start}, now_ns);
    } else if (c->inode != inode || !inode) { /* the kernel had forgotten its directory */
        c->inode = inode;
        if (!is_due(f, c, now_ns))
            return;
    }
    if (!c)
        return;
    c->inode = inode;
    c->scan = f->scan;
    match_candidate(f, c, &stat, now_ns);
}

/* Looks at one process of /proc; `inode` is that of its directory, 0: not known. */
static void visit_proc_entry(struct finder *f, pid_t pid, uint64_t inode, uint64_t now_ns)
{
    struct candidate *c = candidates_find(&f->candidates, pid);
    double before_ns;

    if (c)
        c->scan = f->scan;
    if (c && inode && c->inode == inode && !is_due(f, c, now_ns))
        return;
    if (!has_room(f, c, inode)) {
        f->behind = true;
        if (!c || c->inode != inode)
            f->next_whole_ns = 0; /* it is not known: only /proc leads back to it */
        return;
    }
    before_ns = used_ns();
    examine_process_id(f, c, pid, inode, now_ns);
    f->looks_ns += used_ns() - before_ns;
}

/* A scan, as it is handed through candidates_each and the like. */
struct scan {
    struct finder *finder;
    uint64_t now_ns;
};

static bool consider_id(void *ctx, pid_t pid, uint64_t inode)
{
    const struct scan *scan = ctx;

    if (pid != scan->finder->self)
        visit_proc_entry(scan->finder, pid, inode, scan->now_ns);
    return true;
}

/* Looks at all processes; false: /proc cannot be read. */
static bool consider_all(struct finder *f, uint64_t now_ns)
{
    struct scan scan = {f, now_ns};

    if (proc_file_each_id(proc_file_open(AT_FDCWD, "/proc"), consider_id, &scan) == PROC_OK)
        return true;
    log_line(LOG_LEVEL_ERROR, "/proc cannot be read: %s", strerror(errno));
    return false;
}

static void consider_known(void *ctx, struct candidate *c)
{
    (void)consider_id(ctx, c->id.pid, c->inode);
}

/*
 * True if /proc need not be read: whoever is new since the last scan has a number above
 * `*out_above`, up to the newest. That of the scan before last, as a process gets its number a
 * little before it is to be seen.
 */
static bool knows_others(struct finder *f, uint64_t now_ns, pid_t *out_above)
{
    const struct proc_census before = f->census;
    bool knows;

    *out_above = f->newest_before;
    f->census = proc_census(f->census_fd);
    f->newest_before = before.newest;
    knows = f->census.newest != 0 && *out_above != 0 && now_ns < f->next_whole_ns &&
            f->candidates.count < FINDER_MAX;
    knows = knows && *out_above <= before.newest && before.newest <= f->census.newest &&
            f->census.newest - *out_above <= NUMBERS_MAX;
    /* Somebody came with a number that was handed out long ago. */
    return knows && (f->census.newest != before.newest || f->census.threads <= before.threads);
}

/* Looks at those that are known, and at those that got a number since. */
static void consider_few(struct finder *f, pid_t above, uint64_t now_ns)
{
    pid_t pid;

    candidates_each(&f->candidates, consider_known, &(struct scan){f, now_ns});
    for (pid = above + 1; pid <= f->census.newest; pid++)
        if (pid != f->self && proc_is_process(pid))
            visit_proc_entry(f, pid, 0, now_ns);
}

/* Looks at all; false: /proc cannot be read. */
static bool consider_everybody(struct finder *f, uint64_t now_ns)
{
    pid_t above;

    if (knows_others(f, now_ns, &above)) {
        consider_few(f, above, now_ns);
        return true;
    }
    f->stats.whole++;
    f->next_whole_ns = now_ns + WHOLE_NS;
    if (consider_all(f, now_ns))
        return true;
    f->next_whole_ns = 0;
    return false;
}

static bool was_missing(void *ctx, const struct candidate *c)
{
    const struct finder *f = ctx;

    return c->scan != f->scan;
}

static void forget_candidate(void *ctx, struct candidate *c)
{
    struct finder *f = ctx;

    release_candidate(f, c);
    f->counts[CANDIDATE_NEW]--;
    f->left_out[0]--;
}

static void note_exec(void *ctx, pid_t pid, uint64_t when_ns)
{
    struct finder *f = ctx;
    struct candidate *c = candidates_find(&f->candidates, pid);

    if (c)
        c->execed_ns = when_ns;
}

static void begin_scan(struct finder *f, uint64_t now_ns)
{
    f->scan++;
    f->looks = f->takes = 0;
    f->looks_ns = 0;
    f->behind = false;
    if (f->execs_fd >= 0 && !execs_read(f->execs_fd, note_exec, f))
        f->overrun = true;
    f->polls = (f->execs_fd < 0 || f->overrun) && now_ns >= f->next_poll_ns;
}

static void end_scan(struct finder *f, uint64_t now_ns)
{
    const uint64_t soon = scan_period(f, SOON_NS, f->share * SOON_PART);
    uint64_t every = scan_period(f, f->settings.scan_ns, f->share);

    if (f->settings.eager) /* a command's children come and go with it */
        every = f->counts[CANDIDATE_TAKEN] == 0 ? SOON_NS : SOON_NS * 10;
    if (f->polls) {
        f->overrun = false;
        f->next_poll_ns = now_ns + every;
    }
    if (f->takes > 0) /* who has started one may start others, and these may be over soon */
        f->soon_until_ns = now_ns + SOON_FOR_NS;
    if (now_ns < f->soon_until_ns && soon < every)
        every = soon;
    if (f->behind && every > CATCH_UP_NS)
        every = CATCH_UP_NS;
    f->next_scan_ns = now_ns + every;
}

/* Processes that were taken, as they are handed through candidates_each. */
struct watched {
    pid_t pids[FORKS_PARENTS_MAX];
    size_t count;
};

static void add_watched(void *ctx, struct candidate *c)
{
    struct watched *watched = ctx;

    if (c->state == CANDIDATE_TAKEN && watched->count < FORKS_PARENTS_MAX)
        watched->pids[watched->count++] = c->id.pid;
}

/* Has the kernel report the children of those that are taken now. */
static void watch_taken(struct finder *f)
{
    struct watched watched = {.count = 0};

    if (f->births_fd < 0 || !f->watch_changed)
        return;
    candidates_each(&f->candidates, add_watched, &watched);
    f->watch_changed = !forks_watch(f->births_fd, watched.pids, watched.count);
}

int finder_births_fd(const struct finder *f, uint64_t now_ns)
{
    return now_ns < f->next_births_ns ? -1 : f->births_fd;
}

static void note_birth(void *ctx, pid_t parent, pid_t child)
{
    struct finder *f = ctx;

    (void)parent;
    if (f->birth_count < BIRTHS_MAX && child != f->self)
        f->births[f->birth_count++] = child;
}

void finder_hear_births(struct finder *f, uint64_t now_ns)
{
    if (!forks_read(f->births_fd, note_birth, f))
        f->next_whole_ns = 0; /* some were lost */
    if (f->birth_count > 0 && f->births_due_ns == UINT64_MAX)
        f->births_due_ns = now_ns + BIRTH_NS;
}

static void look_at_births(struct finder *f, uint64_t now_ns)
{
    const double before_ns = used_ns();

    f->looks = f->takes = 0;
    f->polls = false;
    for (size_t i = 0; i < f->birth_count; i++)
        visit_proc_entry(f, f->births[i], 0, now_ns);
    f->birth_count = 0;
    f->births_due_ns = UINT64_MAX;
    if (f->takes > 0)
        f->soon_until_ns = now_ns + SOON_FOR_NS;
    watch_taken(f);
    if (f->share > 0)
        f->next_births_ns = now_ns + (uint64_t)((used_ns() - before_ns) / (f->share * SOON_PART));
}

void finder_scan(struct finder *f, uint64_t now_ns)
{
    const double before_ns = used_ns();
    bool good = true;

    begin_scan(f, now_ns);
    if (f->settings.only) {
        visit_proc_entry(f, f->settings.only, 0, now_ns);
    } else {
        good = consider_everybody(f, now_ns);
    }
    if (good)
        candidates_sweep(&f->candidates, was_missing, forget_candidate, f);
    watch_taken(f);
    f->cpu_ns += (used_ns() - before_ns - f->looks_ns - f->cpu_ns) * CPU_WEIGHT;
    end_scan(f, now_ns);
}

bool finder_run(struct finder *f, uint64_t now_ns)
{
    if (now_ns >= f->births_due_ns)
        look_at_births(f, now_ns);
    if (now_ns < f->next_scan_ns)
        return false;
    finder_scan(f, now_ns);
    return true;
}

static void ignore_dropped_candidate(void *ctx, struct candidate *c)
{
    (void)ctx;
    (void)c;
}

void finder_free(struct finder *f)
{
    if (!f)
        return;
    f->scan++; /* which nobody was there in */
    candidates_sweep(&f->candidates, was_missing, ignore_dropped_candidate, f);
    if (f->execs_fd >= 0)
        (void)close(f->execs_fd);
    if (f->births_fd >= 0)
        (void)close(f->births_fd);
    if (f->census_fd >= 0)
        (void)close(f->census_fd);
    free(f);
}
