/* SPDX-License-Identifier: Apache-2.0 */
/* test_mem.c - a process is read by either system call, and its end is told from a race. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/leader.h"
#include "tests/unit/no_vm_readv.h"
#include "tests/unit/unit_test.h"
#include "unwind/read/mem.h"

static const char text[] = "what the child has at the same address";

/* A child that waits, and its /proc directory. */
struct child {
    pid_t pid;
    int proc_fd;
    struct mem *mem;
};

static struct child start_child(void)
{
    struct child child;
    char path[64];

    child.mem = NULL;
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)child.pid);
    child.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(child.proc_fd >= 0);
    return child;
}

static void kill_child(struct child *child)
{
    siginfo_t info;

    (void)kill(child->pid, SIGKILL);
    (void)waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT);
}

static void end_child(struct child *child)
{
    kill_child(child);
    (void)waitpid(child->pid, NULL, 0);
    mem_close(child->mem);
    (void)close(child->proc_fd);
}

static cpy_addr addr_of(const void *at)
{
    return (cpy_addr)(uintptr_t)at;
}

/* What a reader must find, one bit each; run here, and where process_vm_readv is forbidden. */
enum {
    READS_ONE = 1,
    READS_RANGES_IN_ORDER = 2,
    REFUSES_UNMAPPED = 4,
    REFUSES_HALF_MAPPED = 8,
    REFUSES_KERNEL_ADDRESSES = 16,
    TELLS_THE_END = 32,
    COUNTS = 64,
    READS_ALL = 127
};

static unsigned try_good(struct mem *mem)
{
    char first[sizeof(text)] = "", second[5] = "";
    struct mem_range ranges[] = {{addr_of(text), first, sizeof(text)},
                                 {addr_of(text) + 5, second, 3}};
    uint64_t word = 0, wanted, reads = mem->reads, bytes = mem->bytes;
    unsigned good = 0;

    memcpy(&wanted, text, sizeof(wanted));
    if (mem_read_word(mem, addr_of(text), &word) == CPY_OK && word == wanted)
        good |= READS_ONE;
    if (mem_read_ranges(mem, ranges, 2) == CPY_OK && strcmp(first, text) == 0 &&
        strcmp(second, "the") == 0)
        good |= READS_RANGES_IN_ORDER;
    if (mem->reads > reads && mem->bytes == bytes + 8 + sizeof(text) + 3)
        good |= COUNTS;
    return good;
}

static unsigned try_bad(struct mem *mem, cpy_addr hole)
{
    char into[8192];
    uint64_t word;
    struct mem_range ranges[] = {{addr_of(text), into, 8}, {hole, into + 8, 8}};
    unsigned good = 0;

    if (mem_read_word(mem, hole, &word) == CPY_RACED && mem_read_word(mem, 0, &word) == CPY_RACED)
        good |= REFUSES_UNMAPPED;
    if (mem_read(mem, hole - 4, into, 8) == CPY_RACED &&
        mem_read_ranges(mem, ranges, 2) == CPY_RACED)
        good |= REFUSES_HALF_MAPPED;
    if (mem_read_word(mem, UINT64_MAX - 7, &word) == CPY_RACED &&
        mem_read_word(mem, UINT64_C(1) << 63, &word) == CPY_RACED &&
        mem_read_word(mem, INT64_MAX - 7, &word) == CPY_RACED)
        good |= REFUSES_KERNEL_ADDRESSES;
    return good;
}

/* Tries everything with a child; `hole` is not mapped in it, the byte before is. */
static unsigned try_all(cpy_addr hole)
{
    struct child child = start_child();
    unsigned good = 0;
    uint64_t word;

    if (mem_open_process(child.pid, child.proc_fd, &child.mem, NULL) == CPY_OK) {
        good = try_good(child.mem) | try_bad(child.mem, hole);
        kill_child(&child);
        if (mem_read_word(child.mem, addr_of(text), &word) == CPY_GONE) /* a zombie */
            good |= TELLS_THE_END;
    }
    end_child(&child);
    return good;
}

/* Two pages, of which the second is taken away again. */
static cpy_addr make_hole(void)
{
    char *pages = mmap(NULL, 2 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED);
    memset(pages, 1, 65536);
    assert_int_equal(munmap(pages + 65536, 65536), 0);
    return addr_of(pages + 65536);
}

static void reads_a_process_by_process_vm_readv(void **state)
{
    (void)state;
    assert_int_equal(try_all(make_hole()), READS_ALL);
}

/* The same in a process of its own under a filter. */
static unsigned try_forbidden(int cause)
{
    cpy_addr hole = make_hole();
    char byte;
    struct iovec one = {&byte, 1};
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!forbid_vm_readv(cause) || process_vm_readv(getpid(), &one, 1, &one, 1, 0) != -1 ||
            errno != cause)
            _exit(255);
        _exit((int)try_all(hole));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

static void reads_by_proc_pid_mem_where_the_call_is_missing(void **state)
{
    (void)state;
    assert_int_equal(try_forbidden(ENOSYS), READS_ALL);
}

static void reads_by_proc_pid_mem_where_the_call_is_forbidden(void **state)
{
    (void)state;
    assert_int_equal(try_forbidden(EPERM), READS_ALL);
}

/* As a process under a filter that has no descriptor left. */
static int open_forbidden(const struct child *child)
{
    struct err err = {""};
    struct mem *mem = NULL;
    enum cpy_rc rc;

    if (!forbid_vm_readv(EPERM))
        return 255;
    (void)descriptors_forbid();
    rc = mem_open_process(child->pid, child->proc_fd, &mem, &err);
    return rc == CPY_NOMEM && strstr(err.text, "Too many open files") ? 0 : 1;
}

static void tells_that_no_descriptor_is_left_from_a_refusal(void **state)
{
    struct child child = start_child();
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(open_forbidden(&child));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end_child(&child);
}

/* As a process that the kernel has no memory for from now on. */
static int read_without_memory(const struct child *child)
{
    struct err err = {""};
    struct mem *mem = NULL;
    enum cpy_rc rc;
    char byte;

    if (mem_open_process(child->pid, child->proc_fd, &mem, &err) != CPY_OK ||
        !forbid_vm_readv(ENOMEM))
        return 255;
    rc = mem_read(mem, (uintptr_t)&read_without_memory, &byte, 1);
    mem_close(mem);
    return rc == CPY_NOMEM ? 0 : 1;
}

static void tells_a_lack_of_memory_from_a_page_that_is_not_there(void **state)
{
    struct child child = start_child();
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(read_without_memory(&child));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end_child(&child);
}

static void opens_no_process_that_has_ended(void **state)
{
    struct child child = start_child();
    struct err err = {""};

    (void)state;
    kill_child(&child);
    assert_int_equal(mem_open_process(child.pid, child.proc_fd, &child.mem, &err), CPY_GONE);
    assert_string_equal(err.text, "reading its memory: No such process");
    assert_null(child.mem);
    end_child(&child);
}

static void tells_the_end_of_a_process_that_was_reaped(void **state)
{
    struct child child = start_child();
    uint64_t word;

    (void)state;
    assert_int_equal(mem_open_process(child.pid, child.proc_fd, &child.mem, NULL), CPY_OK);
    kill_child(&child);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_int_equal(mem_read_word(child.mem, addr_of(text), &word), CPY_GONE);
    end_child(&child);
}

enum when { OPENED_BEFORE, OPENED_AFTER };

/* Ends the threads of a process one after the other, the first one first, and reads it each time;
 * gives how many reads were well, or -1 if the end was not told. */
static int count_reads(enum when when)
{
    struct leader leader = leader_start();
    struct child child = {.pid = leader.pid};
    uint64_t word = 0, wanted;
    int reads = 0;

    memcpy(&wanted, text, sizeof(wanted));
    child.proc_fd = proc_file_open(AT_FDCWD, "/proc/%d", (int)child.pid);
    if (when == OPENED_BEFORE)
        assert_int_equal(mem_open_process(child.pid, child.proc_fd, &child.mem, NULL), CPY_OK);
    for (int i = 0; i < LEADER_THREADS; i++, word = 0) {
        leader_end_thread(&leader, i);
        if (!child.mem)
            assert_int_equal(mem_open_process(child.pid, child.proc_fd, &child.mem, NULL), CPY_OK);
        reads += mem_read_word(child.mem, addr_of(text), &word) == CPY_OK && word == wanted;
    }
    reads = mem_read_word(child.mem, addr_of(text), &word) == CPY_GONE ? reads : -1;
    mem_close(child.mem);
    (void)close(child.proc_fd);
    leader_finish(&leader);
    return reads;
}

static void reads_a_process_until_its_last_thread_ends(void **state)
{
    (void)state;
    assert_int_equal(count_reads(OPENED_BEFORE), LEADER_THREADS - 1);
    assert_int_equal(count_reads(OPENED_AFTER), LEADER_THREADS - 1);
}

static void reads_it_so_by_its_mem_file_too(void **state)
{
    const enum when whens[] = {OPENED_BEFORE, OPENED_AFTER};
    int status = 0;
    pid_t pid;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* as leader_start does, but not in a child */
#endif
    for (size_t i = 0; i < 2; i++) {
        pid = fork();
        if (pid == 0)
            _exit(forbid_vm_readv(EPERM) ? count_reads(whens[i]) : 255);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), LEADER_THREADS - 1);
    }
}

static void is_denied_without_the_right_to_read(void **state)
{
    enum { NOBODY = 65534 };
    struct child child;
    struct err err = {""};
    int status = 0;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can make a process of another user */
    child = start_child();
    pid = fork();
    if (pid == 0) {
        if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(255);
        _exit(mem_open_process(child.pid, child.proc_fd, &child.mem, &err) == CPY_DENIED &&
                      strstr(err.text, "Operation not permitted")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    end_child(&child);
}

static enum cpy_rc read_nothing(struct mem *mem, const struct mem_range *ranges, size_t count)
{
    (void)ranges;
    mem->reads += count;
    return CPY_OK;
}

static void passes_on_no_more_ranges_than_one_call_takes(void **state)
{
    static struct mem_range ranges[MEM_RANGES_MAX + 1];
    struct mem mem = {.read = read_nothing};

    (void)state;
    assert_int_equal(mem_read_ranges(&mem, ranges, 0), CPY_OK);
    assert_int_equal(mem.reads, 0);
    assert_int_equal(mem_read_ranges(&mem, ranges, MEM_RANGES_MAX), CPY_OK);
    assert_int_equal(mem.reads, MEM_RANGES_MAX);
    assert_int_equal(mem_read_ranges(&mem, ranges, MEM_RANGES_MAX + 1), CPY_RACED);
    assert_int_equal(mem.reads, MEM_RANGES_MAX);
    mem_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_process_by_process_vm_readv),
        cmocka_unit_test(reads_by_proc_pid_mem_where_the_call_is_missing),
        cmocka_unit_test(reads_by_proc_pid_mem_where_the_call_is_forbidden),
        cmocka_unit_test(tells_that_no_descriptor_is_left_from_a_refusal),
        cmocka_unit_test(tells_a_lack_of_memory_from_a_page_that_is_not_there),
        cmocka_unit_test(opens_no_process_that_has_ended),
        cmocka_unit_test(tells_the_end_of_a_process_that_was_reaped),
        cmocka_unit_test(reads_a_process_until_its_last_thread_ends),
        cmocka_unit_test(reads_it_so_by_its_mem_file_too),
        cmocka_unit_test(is_denied_without_the_right_to_read),
        cmocka_unit_test(passes_on_no_more_ranges_than_one_call_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
