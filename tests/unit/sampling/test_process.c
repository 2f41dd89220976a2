/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_process.c - time is given to the stacks that took it, and adds up.
 *
 * The stacks come from a golden image; the CPU time is that of this very process, whose thread
 * stands in for the image's main thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/clock.h"
#include "agent/sampling/gil_stuck.h"
#include "agent/sampling/process.h"
#include "tests/images/image.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"
#include "tests/unit/waiting_child.h"
#include "unwind/target.h"

enum { THREADS = 5, NO_SUCH_TID = 2000000000 };

/* CPU time of children that no sample saw; that of children is told in ticks. */
#define UNSEEN_NS    (40 * NS_PER_MS)
#define STAT_TICK_NS (10 * NS_PER_MS)

static const char image[] = "tests/golden/unwind/3.15.2-debian.img";

/* A process that is sampled. */
struct fixture {
    struct services services;
    struct service *service;
    struct process process;
    struct cpy_target *target; /* borrowed from the process */
};

static void note_tid(void *ctx, const struct cpy_thread *thread)
{
    struct tids *tids = ctx;

    assert_true(tids->count < THREADS);
    tids->pairs[tids->count] = (struct tid_pair){thread->tid, thread->status & CPY_STATUS_MAIN
                                                                  ? (pid_t)syscall(SYS_gettid)
                                                                  : NO_SUCH_TID + (int)tids->count};
    tids->count++;
}

/* Lets our own thread stand in for the main thread of the image, and nobody for the others. */
static void stand_in(struct cpy_target *target)
{
    struct tids tids = {.proc_fd = -1, .nested = true, .capacity = THREADS};

    tids.pairs = calloc(THREADS, sizeof(*tids.pairs));
    assert_non_null(tids.pairs);
    assert_int_equal(cpy_sample(target, note_tid, &tids), CPY_OK);
    assert_int_equal(tids.count, THREADS);
    target->process.tids = tids;
    target->process.proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(target->process.proc_fd >= 0);
    cpu_pin_init(&target->cpu_pin, target->process.proc_fd);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct err err = {""};

    assert_non_null(f);
    f->service = services_get(&f->services, "shop", 1, 2);
    assert_non_null(f->service);
    if (image_open_target(image, &f->target, &err) != CPY_OK)
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    process_finish(&f->process, NULL);
    services_finish(&f->services);
    free(f);
    return 0;
}

static void begin(struct fixture *f, enum service_split split, uint64_t now_ns)
{
    process_init(&f->process, (struct proc_id){getpid(), 1}, f->target, f->service, split, now_ns);
}

static uint64_t total(const struct fixture *f, enum service_value value)
{
    return (uint64_t)pprof_total(f->service->profile, value);
}

/* Own and cumulative time of the function whose name starts with `name`; 0: it has none. */
static uint64_t own_time(const struct fixture *f, enum service_value value, const char *name)
{
    struct pprof_top *top = NULL;
    size_t count = 0, i;
    uint64_t time = 0;

    assert_int_equal(pprof_top(f->service->profile, value, &top, &count), PPROF_OK);
    for (i = 0; i < count; i++)
        if (strncmp(top[i].name, name, strlen(name)) == 0)
            time += (uint64_t)top[i].flat;
    free(top);
    return time;
}

static void burn(uint64_t ns)
{
    struct timespec now;
    volatile unsigned sink = 0;
    uint64_t first = 0, at;

    do {
        for (int i = 0; i < 10000; i++)
            sink = sink + 1;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        at = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
        first = first ? first : at;
    } while (at - first < ns);
}

static void only_sets_its_clocks_at_the_first_sample(void **state)
{
    struct fixture *f = *state;

    begin(f, SPLIT_NONE, NS_PER_S);
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_OK);
    assert_int_equal(total(f, VALUE_WALL), 0);
    assert_int_equal(total(f, VALUE_SAMPLES), 0);
    assert_int_equal(f->process.thread_count, THREADS);
    assert_string_equal(f->service->python, "3.15.2");
}

static void gives_each_thread_the_time_that_has_passed(void **state)
{
    static const uint64_t steps_ms[] = {10, 1000, 3, 70};
    struct fixture *f = *state;
    uint64_t now = NS_PER_S, sum = 0;

    begin(f, SPLIT_NONE, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (size_t i = 0; i < 4; i++) {
        now += steps_ms[i] * NS_PER_MS;
        sum += steps_ms[i] * NS_PER_MS;
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
        assert_int_equal(total(f, VALUE_WALL), THREADS * sum);
    }
    assert_int_equal(total(f, VALUE_SAMPLES), 4 * THREADS);
    assert_int_equal(total(f, VALUE_GIL), 0); /* all of them wait */
}

static enum cpy_rc (*real_read)(struct mem *mem, const struct mem_range *ranges, size_t count);

static enum cpy_rc read_nothing(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    (void)mem;
    (void)ranges;
    (void)count;
    return CPY_RACED;
}

static cpy_addr torn_state, shutdown_head;

/* The state of one thread cannot be read a second time, and its current frame not at all. */
static enum cpy_rc read_torn(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (ranges[i].size == 8 && ranges[i].from > torn_state && ranges[i].from < torn_state + 800)
            return CPY_RACED;
    return real_read(mem, ranges, count);
}

static void carries_the_time_of_a_failed_sample_to_the_next(void **state)
{
    struct fixture *f = *state;

    begin(f, SPLIT_NONE, NS_PER_S);
    real_read = f->target->process.mem->read;
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    f->target->process.mem->read = read_nothing;
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_RACED);
    assert_int_equal(total(f, VALUE_WALL), 0);
    f->target->process.mem->read = real_read;
    assert_int_equal(process_sample(&f->process, 4 * NS_PER_S, false, NULL), CPY_OK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 3 * NS_PER_S);
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS);
}

static void carries_the_time_of_a_torn_stack_to_its_next_good_one(void **state)
{
    struct fixture *f = *state;

    begin(f, SPLIT_NONE, NS_PER_S);
    real_read = f->target->process.mem->read;
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    torn_state = f->process.threads[2].state;
    f->target->process.mem->read = read_torn;
    f->target->gil_skip.ready = false; /* it is read although it cannot have run */
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_OK);
    assert_int_equal(cpy_stats(f->target)->torn, 1);
    assert_int_equal(total(f, VALUE_WALL), (THREADS - 1) * NS_PER_S);
    f->target->process.mem->read = real_read;
    assert_int_equal(process_sample(&f->process, 3 * NS_PER_S, false, NULL), CPY_OK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 2 * NS_PER_S);
    assert_int_equal(f->process.thread_count, THREADS);
}

static void gives_cpu_time_to_the_stack_that_was_seen_running(void **state)
{
    struct fixture *f = *state;
    uint64_t given, now = NS_PER_S;

    stand_in(f->target);
    begin(f, SPLIT_NONE, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (int i = 0; i < 4; i++) {
        burn(50 * NS_PER_MS);
        now += 50 * NS_PER_MS;
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    }
    process_commit(&f->process, f->process.last_ns);
    given = own_time(f, VALUE_CPU, "Place.wait");

    assert_true(given > 140 * NS_PER_MS); /* the kernel's number may be a tick old */
    assert_int_equal(given + own_time(f, VALUE_CPU, "<CPU time"), total(f, VALUE_CPU));
}

static void gives_cpu_time_that_adds_up_to_the_kernels_number(void **state)
{
    struct fixture *f = *state;
    uint64_t before = 0, after = 0, now = NS_PER_S;

    stand_in(f->target);
    begin(f, SPLIT_NONE, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (int i = 0; i < 3; i++) {
        burn(30 * NS_PER_MS);
        now += 30 * NS_PER_MS;
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
        assert_true(proc_clock_ns(f->process.clock, &before));
        process_commit(&f->process, f->process.last_ns);
        assert_true(proc_clock_ns(f->process.clock, &after));

        assert_true(total(f, VALUE_CPU) >= before - f->process.cpu_base_ns);
        /* The thread's first number may have been a tick old; that is taken off later. */
        assert_true(total(f, VALUE_CPU) <= after - f->process.cpu_base_ns + 10 * NS_PER_MS);
        assert_int_equal(f->process.cpu_given_ns, total(f, VALUE_CPU));
    }
}

static void does_not_take_a_thread_that_it_cannot_look_at_for_one_that_sleeps(void **state)
{
    struct fixture *f = *state;
    struct rlimit before;
    enum cpy_rc rc;

    stand_in(f->target);
    begin(f, SPLIT_NONE, NS_PER_S);
    before = descriptors_forbid();
    rc = process_sample(&f->process, NS_PER_S, false, NULL);
    descriptors_allow(before);

    assert_int_equal(rc, CPY_NOMEM);
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
}

static void gives_cpu_time_that_no_sample_saw_to_a_frame_that_says_so(void **state)
{
    struct fixture *f = *state;

    begin(f, SPLIT_PROCESS, NS_PER_S); /* no thread of the image is one of ours */
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    burn(50 * NS_PER_MS);
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_OK);
    process_commit(&f->process, f->process.last_ns);

    assert_true(total(f, VALUE_CPU) >= 50 * NS_PER_MS);
    assert_int_equal(own_time(f, VALUE_CPU, "<CPU time between samples>"), total(f, VALUE_CPU));
    assert_int_equal(own_time(f, VALUE_WALL, "<CPU time between samples>"), 0);
}

/* The interpreter of another state takes over on the same kernel thread, and gives it back. */
static void gives_cpu_time_to_the_state_that_the_thread_runs_now(void **state)
{
    struct fixture *f = *state;
    struct process_thread *main_thread;
    uint64_t now = NS_PER_S, given;

    stand_in(f->target);
    begin(f, SPLIT_NONE, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (size_t i = 0; i < f->process.thread_count; i++) {
        main_thread = &f->process.threads[i];
        if (main_thread->tid == (pid_t)syscall(SYS_gettid))
            main_thread->state += 8; /* the next sample has another one */
    }
    for (int i = 0; i < 4; i++) {
        burn(50 * NS_PER_MS);
        now += 50 * NS_PER_MS;
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    }
    assert_int_equal(f->process.thread_count, THREADS);
    process_commit(&f->process, f->process.last_ns);
    given = own_time(f, VALUE_CPU, "Place.wait");

    assert_true(given > 140 * NS_PER_MS);
    assert_int_equal(given + own_time(f, VALUE_CPU, "<CPU time"), total(f, VALUE_CPU));
}

/* A child process with a thread that runs. That thread stands in for the image's main thread, and
 * no thread of the test does: valgrind runs only one thread of a process at a time. */
struct worker {
    pid_t pid, tid; /* of the process, and of the thread that runs */
    int orders;     /* owned: see be_worker */
};

/* That thread, as the child process knows it. */
struct runner {
    pthread_t thread;
    _Atomic pid_t tid;
    _Atomic bool stops;
    sem_t ends;
};

static void *run(void *argument)
{
    struct runner *runner = argument;

    runner->tid = (pid_t)syscall(SYS_gettid);
    while (!runner->stops) {
    }
    while (sem_wait(&runner->ends) != 0) {
    }
    return NULL;
}

/* Tells the thread's number; has it sleep at the first order, and end at the next. */
static _Noreturn void be_worker(int orders)
{
    struct runner runner = {.stops = false};
    pid_t tid = 0;
    char order;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sem_init(&runner.ends, 0, 0) != 0 ||
        pthread_create(&runner.thread, NULL, run, &runner) != 0)
        _exit(1);
    while (tid == 0)
        tid = runner.tid;
    if (write(orders, &tid, sizeof(tid)) != sizeof(tid) || read(orders, &order, 1) != 1)
        _exit(1);
    runner.stops = true;
    if (read(orders, &order, 1) != 1 || sem_post(&runner.ends) != 0)
        _exit(1);
    (void)pthread_join(runner.thread, NULL);
    for (;;)
        (void)pause();
}

static struct worker start_worker(void)
{
    struct worker worker;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    worker.pid = fork();
    if (worker.pid == 0)
        be_worker(ends[1]);
    assert_true(worker.pid > 0);
    (void)close(ends[1]);
    worker.orders = ends[0];
    assert_int_equal(read(worker.orders, &worker.tid, sizeof(worker.tid)), sizeof(worker.tid));
    return worker;
}

/* The first order: the thread sleeps when this returns. */
static void stop_worker(const struct worker *worker)
{
    struct proc_stat stat;

    assert_int_equal(write(worker->orders, "s", 1), 1);
    AWAIT(proc_stat_read_thread(worker->pid, worker->tid, &stat) == PROC_OK && stat.state == 'S');
}

/* The next order: the thread has ended when this returns. */
static void end_thread_of_worker(const struct worker *worker)
{
    uint64_t age;

    assert_int_equal(write(worker->orders, "e", 1), 1);
    AWAIT(proc_thread_age(worker->pid, worker->tid, &age) == PROC_GONE);
}

static void end_worker(const struct worker *worker)
{
    (void)kill(worker->pid, SIGKILL);
    assert_int_equal(waitpid(worker->pid, NULL, 0), worker->pid);
    (void)close(worker->orders);
}

/* Waits until the worker has used so much more CPU time. */
static void await_use(const struct worker *worker, uint64_t ns)
{
    uint64_t first, now;
    clockid_t clock;

    assert_true(proc_clock(worker->pid, &clock) && proc_clock_ns(clock, &first));
    AWAIT(proc_clock_ns(clock, &now) && now - first >= ns);
}

/* Lets the worker's thread stand in for the main thread of the image. */
static void let_work(struct fixture *f, const struct worker *worker)
{
    char path[64];

    stand_in(f->target);
    for (size_t i = 0; i < THREADS; i++)
        if (f->target->process.tids.pairs[i].outer == (pid_t)syscall(SYS_gettid))
            f->target->process.tids.pairs[i].outer = worker->tid;
    (void)close(f->target->process.proc_fd);
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)worker->pid);
    f->target->process.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(f->target->process.proc_fd >= 0);
    cpu_pin_init(&f->target->cpu_pin, f->target->process.proc_fd);
    process_init(&f->process, (struct proc_id){worker->pid, 1}, f->target, f->service, SPLIT_NONE,
                 NS_PER_S);
}

/* Longer than a sample takes where it takes long, so that there is a rest to estimate. */
#define LONG_TICK (10 * NS_PER_S)

/* What is used after the last sample of a thread. */
#define TAIL_NS (200 * NS_PER_MS)

static struct process_thread *thread_of(struct fixture *f, pid_t tid)
{
    size_t i = 0;

    while (i < f->process.thread_count && f->process.threads[i].tid != tid)
        i++;
    assert_true(i < f->process.thread_count);
    return &f->process.threads[i];
}

/* Samples until a thread was seen running, and no longer. */
static void sample_until_seen(struct fixture *f, pid_t tid)
{
    uint64_t now = NS_PER_S;
    bool seen = false;

    for (int tries = 0; !seen && tries < 1000; tries++, now += LONG_TICK) {
        process_commit(&f->process, f->process.last_ns);
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
        seen = thread_of(f, tid)->cpu_attribution.count > 0;
    }
    assert_true(seen);
}

/* CPU time that goes to the stack of a thread which has run, and is not in the next sample, beyond
 * what was known of it. */
static uint64_t tail_of(struct fixture *f, bool has_ended)
{
    const struct worker worker = start_worker();
    struct process_thread *thread;
    uint64_t before;

    let_work(f, &worker);
    sample_until_seen(f, worker.tid);
    thread = thread_of(f, worker.tid);
    before = own_time(f, VALUE_CPU, "Place.wait") + thread->times.cpu_ns - thread->committed.cpu_ns;
    await_use(&worker, TAIL_NS);
    stop_worker(&worker);
    if (has_ended)
        end_thread_of_worker(&worker);
    thread->state += 8; /* another one is there now, which is new */
    assert_int_equal(process_sample(&f->process, f->process.last_ns + NS_PER_MS, false, NULL),
                     CPY_OK);
    process_commit(&f->process, f->process.last_ns);
    end_worker(&worker);
    assert_int_equal(own_time(f, VALUE_CPU, "Place.wait") + own_time(f, VALUE_CPU, "<CPU time"),
                     total(f, VALUE_CPU));
    return own_time(f, VALUE_CPU, "Place.wait") - before;
}

static void gives_the_rest_to_the_stacks_of_threads_that_ended(void **state)
{
    assert_true(tail_of(*state, true) >= TAIL_NS / 2); /* clocks are not read at one moment */
}

static void gives_no_more_to_a_thread_that_has_left_python(void **state)
{
    assert_int_equal(tail_of(*state, false), 0);
}

/* The child's own service is held: its rows are in another profile than its parent's. */
static void gives_the_rest_of_a_child_to_what_its_only_sample_saw(void **state)
{
    struct fixture *f = *state;
    const struct worker worker = start_worker();
    struct service *service = services_get(&f->services, "parent", 3, 2);
    struct process parent = {.service = service};
    struct process_thread *thread;
    int tries = 0;

    assert_non_null(service);
    let_work(f, &worker);
    do { /* until it is seen running */
        f->process.sample = 0;
        assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
        thread = thread_of(f, worker.tid);
    } while (!thread->ran && ++tries < 1000);
    assert_true(thread->ran);
    process_note_child(&parent, &f->process, NS_PER_S + TAIL_NS);
    assert_int_equal(parent.child_tails.now, TAIL_NS);
    f->service = service;
    pprof_add(service->profile, parent.child_tails.items[0].row,
              (const int64_t[VALUES]){[VALUE_CPU] = 1});
    assert_int_equal(own_time(f, VALUE_CPU, "Place.wait"), 1);
    cpu_attribution_finish(&parent.child_tails);
    stop_worker(&worker);
    end_thread_of_worker(&worker);
    end_worker(&worker);
}

static void use_unseen(void)
{
    burn(UNSEEN_NS + 3 * STAT_TICK_NS);
}

/* Two children that were sampled have ended: their names are not known. */
static void gives_the_rest_of_children_without_a_name_to_what_they_did_last(void **state)
{
    static const struct service_tag tag = {.pid = 0};
    struct fixture *f = *state;
    struct children *children = &f->process.children;
    struct proc_stat stat;

    begin(f, SPLIT_NONE, 0);
    waiting_child_end(waiting_child_start(use_unseen));
    assert_int_equal(proc_stat_read(getpid(), &stat), PROC_OK);
    if (stat.waited_cpu_ns < UNSEEN_NS)
        skip(); /* qemu makes it up */
    children->pid = getpid();
    children->known_ns = stat.waited_cpu_ns - UNSEEN_NS;
    children->items = calloc(2, sizeof(*children->items));
    assert_non_null(children->items);
    children->count = children->capacity = 2;
    for (int i = 0; i < 2; i++)
        children->items[i] =
            (struct child){.id = {NO_SUCH_TID + i, 1}, .cpu_ns = UNSEEN_NS / 4 * (unsigned)(i + 1)};
    assert_true(cpu_attribution_add(&f->process.child_tails,
                                    service_class_row(f->service, CPU_NATIVE, "last", &tag),
                                    UNSEEN_NS / 2, CPU_ATTRIBUTION_RAN));
    process_commit(&f->process, NS_PER_S);

    assert_int_equal(own_time(f, VALUE_CPU, "last"), UNSEEN_NS / 2);
    assert_int_equal(own_time(f, VALUE_CPU, "<CPU of children"), UNSEEN_NS / 2);
}

/* All states of the image on one kernel thread. */
static void counts_one_of_several_states_of_a_thread(void **state)
{
    struct fixture *f = *state;
    uint64_t now = NS_PER_S;
    size_t counting = 0, first = 0;

    stand_in(f->target);
    for (size_t i = 0; i < f->target->process.tids.count; i++)
        f->target->process.tids.pairs[i].outer = (pid_t)syscall(SYS_gettid);
    begin(f, SPLIT_NONE, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (size_t i = 0; i < f->process.thread_count; i++) {
        counting += f->process.threads[i].counts;
        first = f->process.threads[i].counts ? i : first;
    }
    assert_int_equal(counting, 1);

    f->process.threads[first].state += 8; /* it ends; the state that is there now is a new one */
    assert_int_equal(process_sample(&f->process, now + NS_PER_S, false, NULL), CPY_OK);
    for (size_t i = counting = 0; i < f->process.thread_count; i++)
        counting += f->process.threads[i].counts;
    assert_int_equal(counting, 1);
}

/* The runtime has no interpreters any more. */
static enum cpy_rc read_shutdown(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    enum cpy_rc rc = real_read(mem, ranges, count);

    for (size_t i = 0; rc == CPY_OK && i < count; i++)
        if (shutdown_head >= ranges[i].from &&
            shutdown_head + sizeof(cpy_addr) <= ranges[i].from + ranges[i].size)
            memset((char *)ranges[i].into + (shutdown_head - ranges[i].from), 0, sizeof(cpy_addr));
    return rc;
}

static void gives_what_a_shutdown_takes_to_a_frame_that_says_so(void **state)
{
    static const char *const shutdown = "<interpreter shutting down>";
    struct fixture *f = *state;
    uint64_t now = NS_PER_S, seen;

    stand_in(f->target);
    begin(f, SPLIT_NONE, now);
    real_read = f->target->process.mem->read;
    shutdown_head = f->target->found.runtime + f->target->found.layout.runtime.interpreters_head;
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    burn(50 * NS_PER_MS);
    assert_int_equal(process_sample(&f->process, now += NS_PER_S, false, NULL), CPY_OK);
    f->target->process.mem->read = read_shutdown;
    while (process_sample(&f->process, now += NS_PER_S, false, NULL) != CPY_STARTING)
        assert_true(now < 100 * NS_PER_S); /* it looks for that now and then */
    seen = own_time(f, VALUE_CPU, "Place.wait");
    burn(100 * NS_PER_MS);
    assert_int_equal(process_sample(&f->process, now += NS_PER_S, false, NULL), CPY_STARTING);
    process_commit(&f->process, now);

    assert_true(seen > 30 * NS_PER_MS);
    assert_int_equal(own_time(f, VALUE_CPU, "Place.wait"), seen);
    assert_true(own_time(f, VALUE_CPU, shutdown) >= 90 * NS_PER_MS);
    assert_int_equal(total(f, VALUE_CPU), f->process.cpu_given_ns);

    /* Another interpreter is begun: what its threads take is theirs again. */
    f->target->process.mem->read = real_read;
    assert_int_equal(process_sample(&f->process, now += NS_PER_S, false, NULL), CPY_OK);
    burn(50 * NS_PER_MS);
    assert_int_equal(process_sample(&f->process, now += NS_PER_S, false, NULL), CPY_OK);
    process_commit(&f->process, now);
    assert_true(own_time(f, VALUE_CPU, "Place.wait") >= seen + 30 * NS_PER_MS);
}

static void gives_out_the_rest_when_it_ends(void **state)
{
    struct fixture *f = *state;

    begin(f, SPLIT_NONE, NS_PER_S);
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    burn(20 * NS_PER_MS);
    process_finish(&f->process, NULL);

    assert_true(total(f, VALUE_CPU) >= 20 * NS_PER_MS);
    assert_null(f->process.threads);
    /* tear_down ends it again: begin anew, so that there is something to end. */
    assert_int_equal(image_open_target(image, &f->target, NULL), CPY_OK);
    begin(f, SPLIT_NONE, NS_PER_S);
}

/* Waits until no thread of it runs any more: a sanitizer has one of its own. */
static void await_stillness(pid_t pid)
{
    uint64_t before = 0, now = 1;
    struct proc_stat stat = {.state = 'R'};
    clockid_t clock;

    while (stat.state != 'T')
        assert_int_equal(proc_stat_read(pid, &stat), PROC_OK);
    while (now != before) {
        before = now;
        (void)usleep(20000);
        assert_true(proc_clock(pid, &clock) && proc_clock_ns(clock, &now));
    }
}

/* A process that has never run since it was made, but for what `wake_sleeper` lets it do. */
static pid_t start_sleeper(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
        for (;;) {
            (void)kill(getpid(), SIGSTOP);
            burn(NS_PER_MS);
        }
    }
    await_stillness(pid);
    return pid;
}

static void wake_sleeper(pid_t pid)
{
    struct proc_stat stat = {.state = 'T'};
    uint64_t before = 0, now = 0;
    clockid_t clock;

    assert_true(proc_clock(pid, &clock) && proc_clock_ns(clock, &before));
    assert_int_equal(kill(pid, SIGCONT), 0);
    do
        assert_true(proc_clock_ns(clock, &now) && proc_stat_read(pid, &stat) == PROC_OK);
    while (now < before + NS_PER_MS || stat.state != 'T');
    await_stillness(pid);
}

static void end_sleeper(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

#define TICK (NS_PER_S / 10)

/* Ticks until a process has rested for long. */
enum { LONG = 3 };

/* Samples a sleeper twice, so that it may rest; the clock stands at 1.1 s then. */
static pid_t begin_asleep(struct fixture *f)
{
    pid_t pid = start_sleeper();

    process_init(&f->process, (struct proc_id){pid, 1}, f->target, f->service, SPLIT_NONE,
                 NS_PER_S);
    assert_int_equal(process_sample(&f->process, NS_PER_S, true, NULL), CPY_OK);
    assert_false(process_may_be_idle(&f->process));
    assert_int_equal(process_sample(&f->process, NS_PER_S + TICK, true, NULL), CPY_OK);
    assert_true(process_may_be_idle(&f->process));
    return pid;
}

/* Takes the samples that are to be taken at the ticks `first` to `last`, a tenth of a second each;
 * gives how many of them read. */
static unsigned sample_all(struct fixture *f, unsigned first, unsigned last, bool alone)
{
    unsigned i, count = 0;
    bool read = false;

    for (i = first; i <= last; i += (unsigned)process_ticks(&f->process)) {
        assert_int_equal(process_sample(&f->process, NS_PER_S + i * TICK, alone, &read), CPY_OK);
        count += read;
    }
    return count;
}

static void does_not_read_what_rests_alone_and_loses_no_time(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(cpy_stats(f->target)->samples, 2);
    process_commit(&f->process, NS_PER_S + LONG * TICK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * LONG * TICK);
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * LONG);
    end_sleeper(pid);
}

static void looks_now_and_then_at_what_has_long_rested(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG - 1, true), 0);
    assert_int_equal(process_ticks(&f->process), 1);
    assert_int_equal(sample_all(f, LONG, LONG, true), 0);
    assert_int_equal(process_ticks(&f->process), IDLE_EACH);
    assert_int_equal(sample_all(f, LONG + IDLE_EACH, LONG + 2 * IDLE_EACH, true), 0);
    process_commit(&f->process, NS_PER_S + (LONG + 19) * TICK); /* in the midst of the next eight */

    assert_int_equal(total(f, VALUE_WALL),
                     THREADS * (LONG + 16) * TICK); /* the others are not sure yet */
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * (LONG + 16));
    end_sleeper(pid);
}

static void glances_at_the_clock_before_it_asks_what_long_rested_whether_it_runs(void **state)
{
    const unsigned asked = LONG + CHEAP_CHECKS * IDLE_EACH;
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(sample_all(f, LONG + IDLE_EACH, asked - 1, false), 0);
    assert_int_equal(sample_all(f, asked, asked, false), 1); /* and says that it may */
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * (LONG + 1));

    assert_int_equal(total(f, VALUE_WALL), THREADS * asked * TICK);
    end_sleeper(pid);
}

static void trusts_its_glances_once_the_clock_has_moved(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(sample_all(f, LONG + IDLE_EACH, LONG + 2 * IDLE_EACH, false), 0);
    wake_sleeper(pid);
    assert_int_equal(sample_all(f, LONG + 3 * IDLE_EACH, LONG + 3 * IDLE_EACH, false), 1);

    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * (LONG + 2 * IDLE_EACH + 1));
    assert_int_equal(total(f, VALUE_WALL), THREADS * (LONG + 3 * IDLE_EACH) * TICK);
    end_sleeper(pid);
}

static void trusts_its_glances_when_it_ends(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(sample_all(f, LONG + IDLE_EACH, LONG + 2 * IDLE_EACH, false), 0);
    process_finish(&f->process, NULL);

    assert_int_equal(total(f, VALUE_WALL), THREADS * (LONG + 2 * IDLE_EACH) * TICK);
    end_sleeper(pid);
}

static void looks_more_rarely_where_ticks_are_short(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    f->service->period_ns = TICK / 100;
    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(process_ticks(&f->process), 18); /* a 16th of 0.3 s */
    for (unsigned i = 6; i < 99; i++)
        assert_int_equal(process_sample(&f->process, NS_PER_S + i * TICK, true, NULL), CPY_OK);
    assert_int_equal(process_ticks(&f->process), 400); /* 0.4 s, however long it rests */
    end_sleeper(pid);
}

static void pays_back_half_of_what_a_rare_look_gave_to_what_goes_on(void **state)
{
    struct fixture *f = *state;
    const struct cpy_options options = {.status = CPY_STATUS_CPU};
    struct process_thread *thread;
    uint32_t idle;

    begin(f, SPLIT_NONE, NS_PER_S);
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_OK);
    thread = &f->process.threads[0];
    thread->row = idle = thread[1].row;   /* as if it had rested where the other one does */
    cpy_set_options(f->target, &options); /* nothing is known of its stack any more */
    f->process.idle.ticks = IDLE_EACH;
    burn(NS_PER_MS);
    assert_int_equal(process_sample(&f->process, 10 * NS_PER_S, false, NULL), CPY_OK);
    assert_int_not_equal(thread->row, idle);
    assert_int_equal(thread->overcounted_ns, 4 * NS_PER_S);
    assert_int_equal(thread->overcounted_row, idle);
    assert_int_equal(process_sample(&f->process, 13 * NS_PER_S, false, NULL), CPY_OK);
    assert_int_equal(thread->overcounted_ns, NS_PER_S);
    thread->overcounted_row = thread->row; /* as if it were back */
    assert_int_equal(process_sample(&f->process, 14 * NS_PER_S, false, NULL), CPY_OK);

    assert_int_equal(thread->overcounted_ns, 0);
    assert_int_equal(total(f, VALUE_WALL), THREADS * 13 * NS_PER_S);
}

static void counts_a_thread_that_came_between_rare_looks_from_its_begin_on(void **state)
{
    struct fixture *f = *state;
    const uint64_t gap = IDLE_EACH * NS_PER_S, fresh = 80 * NS_PER_S;

    begin(f, SPLIT_NONE, NS_PER_S);
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    f->process.thread_count = 0; /* all that is found next is new, and no thread of ours */
    f->process.sample++;
    f->process.last_ns = fresh - gap;
    f->process.idle.ticks = IDLE_EACH;
    burn(NS_PER_MS);
    assert_int_equal(process_sample(&f->process, fresh, false, NULL), CPY_OK);

    /* Half of the time, and half a tick. */
    assert_int_equal(total(f, VALUE_WALL), THREADS * (gap / 2 + NS_PER_S / 2));
}

static void reads_what_has_run(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, 3, true), 0);
    wake_sleeper(pid);
    assert_int_equal(sample_all(f, 4, 4, true), 1);
    assert_int_equal(sample_all(f, 5, 6, true), 0);
    process_commit(&f->process, NS_PER_S + 6 * TICK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 6 * TICK);
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * 6);
    end_sleeper(pid);
}

static void reads_what_may_run_while_others_do(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, 89, false), 88);
    process_commit(&f->process, NS_PER_S + 89 * TICK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 89 * TICK);
    end_sleeper(pid);
}

static void looks_at_each_tick_at_what_may_be_stuck(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    f->process.hang.after_ns = NS_PER_S;
    f->process.threads[0].stuck.since_ns = NS_PER_S + TICK;
    assert_int_equal(sample_all(f, 2, GIL_STUCK_LOOKS, true), 0);
    assert_int_equal(process_ticks(&f->process), 1);
    assert_int_equal(f->process.hang.kind, HANG_NONE);
    assert_int_equal(sample_all(f, GIL_STUCK_LOOKS + 1, GIL_STUCK_LOOKS + 1, true), 0);
    assert_int_equal(f->process.hang.kind, HANG_STUCK);
    end_sleeper(pid);
}

static void looks_at_once_when_it_is_roused(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    assert_int_equal(process_ticks(&f->process), IDLE_EACH);
    process_leave_idle(&f->process, NS_PER_S + 7 * TICK);
    assert_int_equal(process_ticks(&f->process), 1);
    assert_int_equal(sample_all(f, 7, 7, false), 1);
    process_commit(&f->process, NS_PER_S + 7 * TICK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 7 * TICK);
    end_sleeper(pid);
}

static void reads_all_at_least_once_in_an_interval(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    assert_int_equal(sample_all(f, 2, 3, true), 0);
    process_commit(&f->process, NS_PER_S + 3 * TICK);
    assert_int_equal(total(f, VALUE_WALL), THREADS * 3 * TICK);
    assert_true(service_begin(f->service, 5, 3 * NS_PER_S));
    assert_int_equal(sample_all(f, 4, 4, true), 1);
    assert_int_equal(sample_all(f, 5, 5, true), 0);
    process_finish(&f->process, NULL);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 2 * TICK);
    end_sleeper(pid);
}

static void counts_what_rests_on_in_the_next_interval_as_it_is_known(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);
    uint64_t samples, main_time;

    process_commit(&f->process, NS_PER_S + TICK);
    main_time = own_time(f, VALUE_WALL, "Place.wait");
    assert_true(main_time > 0);
    samples = cpy_stats(f->target)->samples;
    assert_true(service_begin(f->service, 5, NS_PER_S + TICK));
    f->process.idle.goes_on = true; /* as if the image's threads were known to sleep */
    assert_int_equal(sample_all(f, 2, 2, true), 1);
    assert_int_equal(cpy_stats(f->target)->samples, samples); /* but it was not read */
    assert_true(process_may_be_idle(&f->process));
    assert_int_equal(sample_all(f, 3, 3, true), 0);
    process_commit(&f->process, NS_PER_S + 3 * TICK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 2 * TICK);
    assert_int_equal(total(f, VALUE_SAMPLES), THREADS * 2);
    assert_int_equal(own_time(f, VALUE_WALL, "Place.wait"), 2 * main_time);
    end_sleeper(pid);
}

static void reads_what_has_run_since_the_interval_ended(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);
    uint64_t samples;

    process_commit(&f->process, NS_PER_S + TICK);
    samples = cpy_stats(f->target)->samples;
    assert_true(service_begin(f->service, 5, NS_PER_S + TICK));
    f->process.idle.goes_on = true;
    wake_sleeper(pid);
    assert_int_equal(sample_all(f, 2, 2, true), 1);

    assert_int_equal(cpy_stats(f->target)->samples, samples + 1);
    end_sleeper(pid);
}

static void keeps_the_cpu_time_of_a_process_that_is_gone(void **state)
{
    struct fixture *f = *state;
    pid_t pid = begin_asleep(f);

    wake_sleeper(pid);
    assert_int_equal(sample_all(f, 2, 2, true), 1);
    end_sleeper(pid);
    process_finish(&f->process, NULL);

    assert_true(total(f, VALUE_CPU) >= NS_PER_MS);
    assert_int_equal(total(f, VALUE_CPU), own_time(f, VALUE_CPU, "<CPU time between samples>"));
}

static void goes_on_as_another_service_and_loses_no_time(void **state)
{
    struct fixture *f = *state;
    struct service *other = services_get(&f->services, "other", 1, 2);

    begin(f, SPLIT_NONE, NS_PER_S);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(process_sample(&f->process, i * NS_PER_S, false, NULL), CPY_OK);
    process_move(&f->process, other, 3 * NS_PER_S);
    assert_int_equal(process_sample(&f->process, 5 * NS_PER_S, false, NULL), CPY_OK);

    assert_int_equal(total(f, VALUE_WALL), THREADS * 2 * NS_PER_S);
    assert_int_equal(pprof_total(other->profile, VALUE_WALL), THREADS * 2 * NS_PER_S);
    assert_string_equal(other->python, f->service->python);
}

static void gives_the_time_that_threads_waited_for_a_cpu(void **state)
{
    struct fixture *f = *state;
    struct process_thread *thread;

    begin(f, SPLIT_NONE, NS_PER_S);
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    assert_int_equal(process_sample(&f->process, 2 * NS_PER_S, false, NULL), CPY_OK);
    thread = &f->process.threads[0];
    thread->times.wait_ns = thread->committed.wait_ns + 700;
    assert_true(
        cpu_attribution_add(&thread->cpu_attribution, thread->row, 1, CPU_ATTRIBUTION_WAITED));
    thread[1].times.wait_ns = thread[1].committed.wait_ns + 50; /* was never seen running */
    process_commit(&f->process, f->process.last_ns);

    assert_int_equal(total(f, VALUE_WAIT), 750);
    assert_int_equal(own_time(f, VALUE_WAIT, "<CPU time between samples>"), 50);
    process_commit(&f->process, f->process.last_ns);
    assert_int_equal(total(f, VALUE_WAIT), 750);
}

static void gives_time_to_the_main_thread_alone_if_that_is_asked_for(void **state)
{
    const struct sample_options options = {.main_only = true, .exception = true};
    struct fixture *f = *state;

    stand_in(f->target);
    begin(f, SPLIT_NONE, NS_PER_S);
    assert_true(process_set_options(&f->process, &options));
    assert_int_equal(process_sample(&f->process, NS_PER_S, false, NULL), CPY_OK);
    burn(20 * NS_PER_MS);
    assert_int_equal(process_sample(&f->process, 3 * NS_PER_S, false, NULL), CPY_OK);
    process_commit(&f->process, 3 * NS_PER_S);

    assert_int_equal(f->process.thread_count, 1);
    assert_int_equal(total(f, VALUE_WALL), 2 * NS_PER_S);
    assert_true(total(f, VALUE_CPU) >= 10 * NS_PER_MS); /* 20, but what a tick is late by */
}

/* A service whose samples are kept, with their part of its CPU time. */
static void keep_samples(struct fixture *f)
{
    f->services.timeline_value = VALUE_CPU;
    f->service = services_get(&f->services, "timed", 1, NS_PER_S / 2);
    assert_non_null(f->service);
    assert_non_null(f->service->timeline);
}

static void keeps_samples_with_their_times_on_request(void **state)
{
    struct fixture *f = *state;
    const struct pprof_timeline *timeline;
    const struct pprof_timeline_track *track;
    uint64_t now = NS_PER_S, cpu_ns = 0;

    keep_samples(f);
    stand_in(f->target);
    begin(f, SPLIT_THREAD, now);
    assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    for (int i = 0; i < 4; i++) {
        burn(50 * NS_PER_MS);
        now += 50 * NS_PER_MS;
        assert_int_equal(process_sample(&f->process, now, false, NULL), CPY_OK);
    }
    process_commit(&f->process, now);

    timeline = f->service->timeline;
    assert_int_equal(timeline->track_count, THREADS);
    assert_int_equal(timeline->left_out, 0);
    track = timeline->tracks;
    while (!track->main)
        track++;
    assert_string_equal(track->name, "MainThread");
    assert_int_equal(track->pid, getpid());
    assert_int_equal(track->count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(track->samples[i].time_ns, (10 + i + 1) * 50 * NS_PER_MS);
        assert_int_equal(track->samples[i].weight, 50 * NS_PER_MS);
        assert_true(track->samples[i].ran);
        cpu_ns += track->samples[i].cpu_ns;
    }
    assert_true(cpu_ns > 140 * NS_PER_MS && cpu_ns <= total(f, VALUE_CPU));
    assert_int_equal(pprof_timeline_weight(timeline, track->samples[0].row), 200 * NS_PER_MS);
}

static void a_thread_that_rests_has_two_samples(void **state)
{
    struct fixture *f = *state;
    const struct pprof_timeline *timeline;
    pid_t pid;

    f->services.timeline_value = VALUE_WALL;
    f->service = services_get(&f->services, "timed", 1, NS_PER_S / 2);
    assert_non_null(f->service);
    pid = begin_asleep(f);
    assert_int_equal(sample_all(f, 2, LONG, true), 0);
    process_commit(&f->process, NS_PER_S + LONG * TICK);

    timeline = f->service->timeline;
    assert_int_equal(timeline->track_count, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(timeline->tracks[i].count, 2);
        assert_int_equal(timeline->tracks[i].samples[1].time_ns, NS_PER_S / 2 + LONG * TICK);
        assert_int_equal(timeline->tracks[i].samples[0].weight +
                             timeline->tracks[i].samples[1].weight,
                         LONG * TICK);
    }
    end_sleeper(pid);
}

static void says_what_its_python_does_not_tell(void **state)
{
    const struct sample_options options = {.frames = CPY_FRAME_NATIVE | CPY_FRAME_GC,
                                           .tasks = TASKS_ALL};
    static const struct {
        const char *path;
        uint32_t lacks;
    } images[] = {
        {"tests/golden/unwind/3.6.15-source.img",
         1U << MISSING_OPTION_NATIVE | 1U << MISSING_OPTION_GC | 1U << MISSING_OPTION_TASKS},
        {"tests/golden/unwind/3.10.13-source.img",
         1U << MISSING_OPTION_NATIVE | 1U << MISSING_OPTION_TASKS},
        {"tests/golden/unwind/3.11.2-debian.img", 1U << MISSING_OPTION_TASKS},
        {"tests/golden/unwind/3.13.18-debian.img", 1U << MISSING_OPTION_TASKS},
        {"tests/golden/unwind/3.14.10-debian.img", 0},
        {image, 0},
    };
    struct cpy_target *target = NULL;
    struct err err = {""};

    (void)state;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        if (image_open_target(images[i].path, &target, &err) != CPY_OK)
            fail_msg("%s", err.text);
        assert_int_equal(sample_options_missing(&options, target), images[i].lacks);
        cpy_close(target);
    }
    for (int lack = 0; lack < MISSING_OPTION_COUNT; lack++)
        assert_non_null(missing_option_text((enum missing_option)lack));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(only_sets_its_clocks_at_the_first_sample),
        TEST(gives_each_thread_the_time_that_has_passed),
        TEST(carries_the_time_of_a_failed_sample_to_the_next),
        TEST(carries_the_time_of_a_torn_stack_to_its_next_good_one),
        TEST(gives_cpu_time_to_the_stack_that_was_seen_running),
        TEST(gives_cpu_time_that_adds_up_to_the_kernels_number),
        TEST(does_not_take_a_thread_that_it_cannot_look_at_for_one_that_sleeps),
        TEST(gives_cpu_time_that_no_sample_saw_to_a_frame_that_says_so),
        TEST(gives_cpu_time_to_the_state_that_the_thread_runs_now),
        TEST(counts_one_of_several_states_of_a_thread),
        TEST(gives_what_a_shutdown_takes_to_a_frame_that_says_so),
        TEST(gives_the_rest_to_the_stacks_of_threads_that_ended),
        TEST(gives_the_rest_of_a_child_to_what_its_only_sample_saw),
        TEST(gives_the_rest_of_children_without_a_name_to_what_they_did_last),
        TEST(gives_no_more_to_a_thread_that_has_left_python),
        TEST(gives_out_the_rest_when_it_ends),
        TEST(does_not_read_what_rests_alone_and_loses_no_time),
        TEST(looks_now_and_then_at_what_has_long_rested),
        TEST(glances_at_the_clock_before_it_asks_what_long_rested_whether_it_runs),
        TEST(trusts_its_glances_once_the_clock_has_moved),
        TEST(trusts_its_glances_when_it_ends),
        TEST(looks_more_rarely_where_ticks_are_short),
        TEST(pays_back_half_of_what_a_rare_look_gave_to_what_goes_on),
        TEST(counts_a_thread_that_came_between_rare_looks_from_its_begin_on),
        TEST(reads_what_has_run),
        TEST(looks_at_each_tick_at_what_may_be_stuck),
        TEST(looks_at_once_when_it_is_roused),
        TEST(reads_what_may_run_while_others_do),
        TEST(reads_all_at_least_once_in_an_interval),
        TEST(counts_what_rests_on_in_the_next_interval_as_it_is_known),
        TEST(reads_what_has_run_since_the_interval_ended),
        TEST(keeps_the_cpu_time_of_a_process_that_is_gone),
        TEST(goes_on_as_another_service_and_loses_no_time),
        TEST(gives_the_time_that_threads_waited_for_a_cpu),
        TEST(gives_time_to_the_main_thread_alone_if_that_is_asked_for),
        TEST(keeps_samples_with_their_times_on_request),
        TEST(a_thread_that_rests_has_two_samples),
        cmocka_unit_test(says_what_its_python_does_not_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
