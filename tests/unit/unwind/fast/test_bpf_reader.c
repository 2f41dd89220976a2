/* SPDX-License-Identifier: Apache-2.0 */
/* test_bpf_reader.c - what the BPF program reads is of one moment of the thread that runs there,
 * has the stack as it stands, and is nothing at all if the thread is elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "tests/unit/hang_limit.h"
#include "tests/unit/unit_test.h"
#include "unwind/fast/prefetch.h"

enum { PAGE = 4096, PAGES = 512, BYTES = PAGES * PAGE, FAR = 3 * PAGE, TRIES = 1000 };

/* Where a version has things that there is not. */
enum { CURRENT = 8, CFRAME = 24, CHUNK = 40, PREVIOUS = 8, FRAME = 64 };

/* A process that runs on a CPU of its own, and whose memory the test shares. */
struct fixture {
    struct bpf_reader *bpf_reader;
    unsigned char *memory; /* owned: mapped, at the same address there */
    pid_t pid;
    cpu_set_t allowed;
    struct bpf_reader_thread thread;
    struct mem mem;
    unsigned char *bytes; /* owned: BYTES */
};

static void bind_to(size_t cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        abort();
}

/* Runs until its memory says otherwise: counts in two places, always the first one before. */
static void run(unsigned char *memory)
{
    _Atomic uint64_t *first = (void *)memory, *second = (void *)(memory + FAR);
    _Atomic uint64_t *sleeps = (void *)(memory + 2 * FAR);
    volatile unsigned char *touched;
    uint64_t n;

    for (touched = memory; touched < memory + BYTES; touched += PAGE)
        *touched = *touched; /* its own pages, too, are there then */
    for (n = 1;; n++) {
        atomic_store(first, n);
        atomic_store(second, n);
        if (atomic_load(sleeps) != 0)
            (void)pause();
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    size_t cpus[2], cpu, count = 0;

    assert_non_null(f);
    *state = f;
    assert_int_equal(sched_getaffinity(0, sizeof(f->allowed), &f->allowed), 0);
    for (cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
        if (CPU_ISSET(cpu, &f->allowed))
            cpus[count++] = cpu;
    f->bpf_reader = count == 2 ? bpf_reader_new() : NULL;
    if (!f->bpf_reader)
        return 0; /* each test is skipped then */
    f->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    f->bytes = malloc(BYTES);
    assert_true(f->memory != MAP_FAILED && f->bytes);
    bind_to(cpus[1]);
    f->pid = fork();
    if (f->pid == 0)
        run(f->memory);
    bind_to(cpus[0]);
    AWAIT(atomic_load((_Atomic uint64_t *)(void *)f->memory) != 0);
    f->thread = (struct bpf_reader_thread){.tid = f->pid, .cpu = (int)cpus[1]};
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    if (f->bpf_reader) {
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
        (void)munmap(f->memory, BYTES);
        (void)sched_setaffinity(0, sizeof(f->allowed), &f->allowed);
    }
    bpf_reader_free(f->bpf_reader);
    free(f->bytes);
    free(f);
    return 0;
}

static struct fixture *needed(void **state)
{
    struct fixture *f = *state;

    if (!f->bpf_reader)
        skip(); /* the kernel will not, or there is one CPU */
    return f;
}

static cpy_addr address(const struct fixture *f, size_t at)
{
    return (uintptr_t)f->memory + at;
}

static bool reads_at_once(struct fixture *f, const struct mem_range *ranges, size_t count)
{
    int i;

    for (i = 0; i < TRIES; i++)
        if (bpf_reader_read(f->bpf_reader, &f->thread, &f->mem, ranges, count))
            return true;
    return false;
}

/* Something else may run there at that moment: it is tried again until the process does. */
static bool reads(struct fixture *f, const struct mem_range *ranges, size_t count)
{
    const time_t end = hang_limit_end_of_wait();
    bool done = reads_at_once(f, ranges, count);

    while (!done && !hang_limit_is_over(end)) {
        (void)usleep(HANG_LIMIT_PAUSE_US);
        done = reads_at_once(f, ranges, count);
    }
    return done;
}

static void put(struct fixture *f, size_t at, uint64_t word)
{
    memcpy(f->memory + at, &word, sizeof(word));
}

static void brings_what_is_asked_for_in_pieces_if_need_be(void **state)
{
    struct fixture *f = needed(state);
    const size_t at[] = {3 * FAR + 5, 5 * FAR, 40 * PAGE + 7}, size[] = {100, 50000, 8};
    struct mem_range ranges[3];
    size_t i, total = 0;
    uint64_t began_ns;

    for (i = 3 * FAR; i < BYTES; i++)
        f->memory[i] = (unsigned char)(i * 7 + (i >> 8));
    for (i = 0; i < 3; total += size[i++])
        ranges[i] = (struct mem_range){address(f, at[i]), f->bytes + total, size[i]};
    began_ns = now_ns();
    assert_true(reads(f, ranges, 3));

    assert_in_range(f->mem.bpf_ns, 1, now_ns() - began_ns); /* part of the time that has passed */
    for (i = 0; i < 3; i++)
        assert_memory_equal(ranges[i].into, f->memory + at[i], size[i]);
    assert_true(f->mem.bytes == total && f->mem.iovecs == 3 && f->mem.reads >= 1);
}

static void brings_as_many_ranges_as_there_may_be(void **state)
{
    struct fixture *f = needed(state);
    struct mem_range ranges[BPF_READER_RANGES];
    size_t i;

    for (i = 0; i < BPF_READER_RANGES; i++) {
        put(f, FAR + 8 + i * PAGE, i + 1);
        ranges[i] = (struct mem_range){address(f, FAR + 8 + i * PAGE), f->bytes + 8 * i, 8};
    }
    assert_true(reads(f, ranges, BPF_READER_RANGES));

    for (i = 0; i < BPF_READER_RANGES; i++)
        assert_int_equal(((const uint64_t *)(const void *)f->bytes)[i], i + 1);
}

/* Instructions that the kernel's verifier followed to load the program; 0: it does not say. */
static unsigned long verified(void)
{
    unsigned long count = 0;
    char path[64], line[128];
    FILE *info;
    int fd;

    for (fd = 0; fd < 64 && count == 0; fd++) {
        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        info = fopen(path, "re");
        while (info && fgets(line, sizeof(line), info))
            if (strncmp(line, "verified_insns:", 15) == 0)
                count = strtoul(line + 15, NULL, 10);
        if (info)
            (void)fclose(info);
    }
    return count;
}

/* 55,000 of them took 34 ms, longer than the rest of the start. */
static void takes_the_verifier_little_time_to_load(void **state)
{
    unsigned long count;

    (void)needed(state);
    count = verified();
    if (count == 0)
        skip(); /* before Linux 5.16 */
    assert_in_range(count, 1, 2000);
}

static void all_of_it_is_of_one_moment(void **state)
{
    struct fixture *f = needed(state);
    uint64_t first, second, before = 0;
    const struct mem_range ranges[] = {{address(f, FAR), &second, 8}, {address(f, 0), &first, 8}};
    int i;

    for (i = 0; i < TRIES; i++) {
        assert_true(reads(f, ranges, 2));
        assert_in_range(first - second, 0, 1);
        assert_true(first >= before); /* and it has gone on in between */
        before = first;
    }
}

static void brings_nothing_of_a_thread_that_is_elsewhere(void **state)
{
    struct fixture *f = needed(state);
    uint64_t word = 42;
    const struct mem_range range = {address(f, 0), &word, 8};

    f->thread.tid = getpid();
    assert_false(reads_at_once(f, &range, 1));
    f->thread.tid = f->pid;
    f->thread.cpu = sched_getcpu();
    assert_false(reads_at_once(f, &range, 1));
    f->thread.cpu = -1;
    assert_false(reads_at_once(f, &range, 1));
    f->thread.cpu = 1 << 20; /* there is no such CPU */
    assert_false(reads_at_once(f, &range, 1));
    assert_int_equal(word, 42);
    assert_true(bpf_reader_works(f->bpf_reader));
}

/* Waits until the process sleeps, and is not only kept from its CPU. */
static void wait_for_sleep(pid_t pid)
{
    struct proc_stat stat = {0};
    char path[64];
    int proc_fd, fd;

    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = proc_file_open(proc_fd, "task/%d/stat", (int)pid);
    AWAIT(proc_stat_reread(fd, &stat) == PROC_OK && stat.state == 'S');
    (void)close(fd);
    (void)close(proc_fd);
}

static void brings_nothing_of_a_thread_that_sleeps(void **state)
{
    struct fixture *f = needed(state);
    uint64_t word = 42;
    const struct mem_range range = {address(f, 0), &word, 8};

    put(f, 2 * FAR, 1);
    wait_for_sleep(f->pid);
    assert_false(reads_at_once(f, &range, 1));
    assert_int_equal(word, 42);
}

static void brings_nothing_if_a_page_is_not_there(void **state)
{
    struct fixture *f = needed(state);
    uint64_t words[2] = {42, 42};
    struct mem_range ranges[] = {{address(f, 0), &words[0], 8}, {8, &words[1], 8}};

    assert_false(reads_at_once(f, ranges, 2));
    ranges[1].from = UINT64_MAX - 3; /* nor is the kernel's memory read */
    assert_false(reads_at_once(f, ranges, 2));
    assert_int_equal(words[0], 42);
    assert_true(reads(f, ranges, 1));
}

static void brings_nothing_of_more_than_fits(void **state)
{
    struct fixture *f = needed(state);
    struct mem_range ranges[BPF_READER_RANGES + 1];
    size_t i;

    for (i = 0; i <= BPF_READER_RANGES; i++)
        ranges[i] = (struct mem_range){address(f, i * 8), f->bytes + i * 8, 8};
    assert_false(reads_at_once(f, ranges, BPF_READER_RANGES + 1));
    assert_true(reads(f, ranges, BPF_READER_RANGES));
    ranges[0].size = BPF_READER_BYTES + 1;
    assert_false(reads_at_once(f, ranges, 1));
    ranges[0].size = SIZE_MAX;
    assert_false(reads_at_once(f, ranges, 1));
    ranges[0].size = BPF_READER_BYTES;
    assert_true(reads(f, ranges, 1));
}

/* A thread state at 3 * FAR whose current frame is `frame`. */
static void make_thread(struct fixture *f, size_t frame)
{
    f->thread.state = address(f, 3 * FAR);
    f->thread.chain = (struct bpf_reader_chain){.datastack_chunk = BPF_READER_NO_FIELD,
                                                .cframe = BPF_READER_NO_FIELD,
                                                .current_frame = CURRENT,
                                                .previous = PREVIOUS,
                                                .frame_size = FRAME};
    put(f, 3 * FAR + CURRENT, frame ? address(f, frame) : 0);
}

static void make_frame(struct fixture *f, size_t at, size_t previous)
{
    put(f, at, at);
    put(f, at + PREVIOUS, previous ? address(f, previous) : 0);
}

/* True if that was brought without being asked for, as it is. */
static bool is_found(struct fixture *f, size_t at, size_t size)
{
    const unsigned char *bytes = bpf_reader_find(f->bpf_reader, address(f, at), size);

    return bytes && memcmp(bytes, f->memory + at, size) == 0;
}

static bool reads_word(struct fixture *f)
{
    const struct mem_range range = {address(f, 0), f->bytes, 8};

    return reads(f, &range, 1);
}

static void follows_frames_wherever_they_lie(void **state)
{
    struct fixture *f = needed(state);

    make_thread(f, 10 * FAR);
    make_frame(f, 10 * FAR, 20 * FAR);
    make_frame(f, 20 * FAR, 30 * FAR);
    make_frame(f, 30 * FAR, 0);
    assert_true(reads_word(f));

    assert_true(is_found(f, 10 * FAR, FRAME));
    assert_true(is_found(f, 20 * FAR + 8, FRAME - 8));
    assert_true(is_found(f, 30 * FAR, FRAME));
    assert_false(is_found(f, 30 * FAR, FRAME + 1));
    assert_false(is_found(f, 40 * FAR, FRAME));
    f->thread.state = 0;
    assert_true(reads_word(f));
    assert_false(is_found(f, 10 * FAR, FRAME)); /* that was before */
}

static void brings_what_is_used_of_a_data_stack_in_one_piece(void **state)
{
    struct fixture *f = needed(state);
    const size_t newest = 50 * PAGE, older = 65 * PAGE, used = 5000;

    make_thread(f, newest + 24);
    f->thread.chain.datastack_chunk = CHUNK;
    put(f, 3 * FAR + CHUNK, address(f, newest));
    put(f, 3 * FAR + CHUNK + 8, address(f, newest + used));
    put(f, newest, address(f, older)); /* _PyStackChunk: previous, size, top */
    put(f, older, 0);
    put(f, older + 16, 100);
    make_frame(f, newest + 24, 20 * FAR);
    make_frame(f, 20 * FAR, older + 24);
    make_frame(f, older + 24, 0);
    assert_true(reads_word(f));

    assert_true(is_found(f, newest, used));
    assert_false(is_found(f, newest, used + 1));
    assert_true(is_found(f, older, 24 + 800));
    assert_true(is_found(f, 20 * FAR, FRAME));
    assert_int_equal(f->mem.iovecs, 4); /* no frame of those chunks once more */
}

static void follows_the_record_of_a_call_into_the_interpreter(void **state)
{
    struct fixture *f = needed(state);

    make_thread(f, 0);
    f->thread.chain.cframe = CFRAME;
    put(f, 3 * FAR + CFRAME, address(f, 70 * PAGE));
    put(f, 70 * PAGE + CURRENT, address(f, 10 * FAR)); /* _PyCFrame: current_frame, previous */
    put(f, 70 * PAGE + CURRENT + 8, address(f, 80 * PAGE));
    make_frame(f, 10 * FAR, 0);
    assert_true(reads_word(f));

    assert_true(is_found(f, 70 * PAGE + CURRENT, 16));
    assert_true(is_found(f, 80 * PAGE + CURRENT, 8));
    assert_true(is_found(f, 10 * FAR, FRAME));
}

static void does_not_bring_twice_what_was_asked_for(void **state)
{
    struct fixture *f = needed(state);
    const struct mem_range range = {address(f, 10 * FAR - 8), f->bytes, FRAME + 8};

    make_thread(f, 10 * FAR);
    make_frame(f, 10 * FAR, 20 * FAR);
    make_frame(f, 20 * FAR, 0);
    assert_true(reads(f, &range, 1));

    assert_false(is_found(f, 10 * FAR, FRAME));
    assert_true(is_found(f, 20 * FAR, FRAME));
}

static void ends_whatever_the_chain_is(void **state)
{
    struct fixture *f = needed(state);
    size_t i;

    make_thread(f, 10 * FAR);
    make_frame(f, 10 * FAR, 10 * FAR); /* a circle */
    assert_true(reads_word(f));
    assert_true(is_found(f, 10 * FAR, FRAME));
    for (i = 0; i < 400; i++) /* more than are followed */
        make_frame(f, 10 * FAR + i * FRAME, 10 * FAR + (i + 1) * FRAME);
    assert_true(reads_word(f));
    assert_true(is_found(f, 10 * FAR + (BPF_READER_FRAMES - 1) * FRAME, FRAME));
    assert_false(is_found(f, 10 * FAR + BPF_READER_FRAMES * FRAME, FRAME));
    put(f, 10 * FAR + PREVIOUS, UINT64_MAX - 7); /* leads nowhere */
    assert_true(reads_word(f));
    assert_true(is_found(f, 10 * FAR, FRAME));
}

static void brings_nothing_if_there_is_no_room_for_the_stack(void **state)
{
    struct fixture *f = needed(state);
    struct mem_range range = {address(f, 200 * PAGE), f->bytes, BPF_READER_BYTES - 2 * FRAME};

    make_thread(f, 10 * FAR);
    make_frame(f, 10 * FAR, 20 * FAR);
    make_frame(f, 20 * FAR, 0);
    assert_true(reads(f, &range, 1));
    make_frame(f, 20 * FAR, 30 * FAR);
    make_frame(f, 30 * FAR, 0);
    assert_false(reads_at_once(f, &range, 1));
}

/* Reads bytes of the process by a prediction that has the set; true if that asked nobody. */
static bool is_served(struct prefetch *prefetch, struct prefetch_set *set, cpy_addr from,
                      bool again)
{
    const uint64_t reads = (*prefetch->inner)->reads;
    const struct mem_range range = {from, (unsigned char[8]){0}, 8};

    prefetch->now = set;
    assert_int_equal(again ? mem_read_again(&prefetch->mem, &range, 1)
                           : mem_read_ranges(&prefetch->mem, &range, 1),
                     CPY_OK);
    return (*prefetch->inner)->reads == reads;
}

/* Fetches them until the BPF program did it; ranges that are not used meanwhile would be dropped.
 */
static void fetch(struct fixture *f, struct prefetch *prefetch, struct prefetch_set *set)
{
    const time_t end = hang_limit_end_of_wait();
    int i;

    prefetch->bpf_reader = f->bpf_reader;
    prefetch->uses_bpf = true;
    prefetch_fetch(prefetch, &set, 1);
    for (i = 0; !prefetch->by_bpf && !hang_limit_is_over(end); i++) {
        if (i >= TRIES)
            (void)usleep(HANG_LIMIT_PAUSE_US);
        (void)is_served(prefetch, set, address(f, 0), false);
        prefetch_fetch(prefetch, &set, 1);
    }
    assert_true(prefetch->by_bpf);
}

/* A prediction over the process, which runs a stack of one frame at 10 * FAR. */
struct predicted {
    struct mem *inner; /* owned */
    struct prefetch prefetch;
    struct prefetch_set set, other;
    int proc_fd; /* owned */
};

static void predict(struct fixture *f, struct predicted *p)
{
    struct err err = {""};

    p->proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mem_open_process(f->pid, p->proc_fd, &p->inner, &err), CPY_OK);
    prefetch_init(&p->prefetch, &p->inner);
    prefetch_set_init(&p->set, false);
    prefetch_set_init(&p->other, false);
    make_thread(f, 10 * FAR);
    make_frame(f, 10 * FAR, 0);
    p->prefetch.bpf_thread = f->thread;
    assert_false(is_served(&p->prefetch, &p->set, address(f, 0), false));
    assert_false(is_served(&p->prefetch, &p->other, address(f, FAR), false));
    fetch(f, &p->prefetch, &p->set);
}

static void end_prediction(struct predicted *p)
{
    prefetch_set_finish(&p->prefetch, &p->set);
    prefetch_set_finish(&p->prefetch, &p->other);
    prefetch_finish(&p->prefetch);
    mem_close(p->inner);
    (void)close(p->proc_fd);
}

static void a_prediction_serves_what_was_brought_and_knows_that_it_is_of_one_moment(void **state)
{
    struct fixture *f = needed(state);
    struct predicted p;
    struct prefetch_set *plain = &p.other;

    predict(f, &p);

    assert_true(is_served(&p.prefetch, &p.set, address(f, 0), false));
    assert_true(is_served(&p.prefetch, &p.set, address(f, 0), true)); /* nothing has moved since */
    assert_true(is_served(&p.prefetch, &p.set, address(f, 10 * FAR), false));
    assert_true(is_served(&p.prefetch, &p.set, address(f, 10 * FAR), true));
    p.prefetch.uses_bpf = false;
    assert_true(reads_word(f)); /* for somebody else: what was brought is gone */
    assert_true(is_served(&p.prefetch, &p.set, address(f, 0), true));
    f->memory[10 * FAR]++;
    assert_false(is_served(&p.prefetch, &p.set, address(f, 10 * FAR), false));
    prefetch_fetch(&p.prefetch, &plain, 1);
    assert_true(is_served(&p.prefetch, &p.other, address(f, FAR), false));
    assert_false(is_served(&p.prefetch, &p.other, address(f, FAR), true)); /* it may have */
    assert_false(is_served(&p.prefetch, &p.other, address(f, 10 * FAR), false));
    end_prediction(&p);
}

static void what_is_missing_of_a_moment_is_never_taken_for_a_part_of_it(void **state)
{
    struct fixture *f = needed(state);
    struct predicted p;

    predict(f, &p);
    assert_false(is_served(&p.prefetch, &p.set, address(f, 20 * FAR), false));

    assert_false(is_served(&p.prefetch, &p.set, address(f, 0), true));
    assert_false(is_served(&p.prefetch, &p.set, address(f, 10 * FAR), true));
    end_prediction(&p);
}

static void give_up_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};

    if (syscall(SYS_capset, &head, none) != 0)
        abort();
}

/* In a process of its own: 0 if all is as it should be without rights. */
static int try_without_rights(struct fixture *f)
{
    uint64_t word;
    const struct mem_range range = {address(f, 0), &word, 8};
    struct bpf_reader *other;

    give_up_rights();
    other = bpf_reader_new();
    if (other)
        return 1;
    if (errno != EPERM)
        return 2;
    /* What was loaded before runs on, or says that it does not (before Linux 5.19). */
    return reads(f, &range, 1) || !bpf_reader_works(f->bpf_reader) ? 0 : 3;
}

static void takes_rights_to_load_and_none_to_run(void **state)
{
    struct fixture *f = needed(state);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(try_without_rights(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void nobody_there_works_for_nobody(void **state)
{
    (void)state;
    assert_false(bpf_reader_works(NULL));
    bpf_reader_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(brings_what_is_asked_for_in_pieces_if_need_be),
        TEST(brings_as_many_ranges_as_there_may_be),
        TEST(takes_the_verifier_little_time_to_load),
        TEST(all_of_it_is_of_one_moment),
        TEST(brings_nothing_of_a_thread_that_is_elsewhere),
        TEST(brings_nothing_of_a_thread_that_sleeps),
        TEST(brings_nothing_if_a_page_is_not_there),
        TEST(brings_nothing_of_more_than_fits),
        TEST(follows_frames_wherever_they_lie),
        TEST(brings_what_is_used_of_a_data_stack_in_one_piece),
        TEST(follows_the_record_of_a_call_into_the_interpreter),
        TEST(does_not_bring_twice_what_was_asked_for),
        TEST(ends_whatever_the_chain_is),
        TEST(brings_nothing_if_there_is_no_room_for_the_stack),
        TEST(a_prediction_serves_what_was_brought_and_knows_that_it_is_of_one_moment),
        TEST(what_is_missing_of_a_moment_is_never_taken_for_a_part_of_it),
        TEST(takes_rights_to_load_and_none_to_run),
        cmocka_unit_test(nobody_there_works_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
