/* SPDX-License-Identifier: Apache-2.0 */
/* test_otel_context.c - the resource that a process publishes, also a hostile one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/discover/otel_context.h"
#include "tests/unit/no_vm_readv.h"
#include "tests/unit/unit_test.h"

/* service.name=shop, a number, service.version=2 */
#define PAIR_NAME "\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
#define PAIR_NUMBER    \
    "\x0a\x0b\x0a\x05" \
    "count\x12\x02\x18\x07"
#define PAIR_VERSION                                  \
    "\x0a\x16\x0a\x0fservice.version\x12\x03\x0a\x01" \
    "2"
#define RESOURCE PAIR_NAME PAIR_NUMBER PAIR_VERSION "\x10\x00"

static void note(void *ctx, const char *name, const char *value)
{
    char *text = ctx;

    (void)snprintf(text + strlen(text), 256 - strlen(text), "%s=%s;", name, value);
}

static void reads_the_strings_of_a_resource(void **state)
{
    char text[256] = "";

    (void)state;
    assert_true(otel_context_decode(RESOURCE, sizeof(RESOURCE) - 1, note, text));
    assert_string_equal(text, "service.name=shop;service.version=2;");
}

static void reads_a_resource_in_a_message(void **state)
{
    static const char message[] = "\x0a\x3f" RESOURCE "\x12\x02\x0a\x00";
    char text[256] = "";

    (void)state;
    assert_int_equal(sizeof(RESOURCE) - 1, 0x3f);
    assert_true(otel_context_decode(message, sizeof(message) - 1, note, text));
    assert_string_equal(text, "service.name=shop;service.version=2;");
}

static void refuses_what_is_cut_off(void **state)
{
    char text[256] = "";
    size_t size;
    int whole = 0;

    (void)state;
    for (size = 0; size < sizeof(RESOURCE) - 1; size++)
        whole += otel_context_decode(RESOURCE, size, note, text);
    assert_true(whole < 5); /* between the fields it is a shorter message */
    assert_false(otel_context_decode("\x0a\xff\xff\xff\xff\x0f", 6, note, text));
    assert_false(
        otel_context_decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, note, text));
}

struct published {
    char signature[8];
    uint32_t version, size;
    uint64_t time, payload;
    char bytes[256];
};

static struct published *publish(void)
{
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    struct published *p;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(p != MAP_FAILED);
    (void)close(fd);
    memcpy(p->bytes, RESOURCE, sizeof(RESOURCE) - 1);
    p->payload = (uint64_t)(uintptr_t)p->bytes;
    p->size = sizeof(RESOURCE) - 1;
    p->version = 2;
    p->time = 1;
    memcpy(p->signature, "OTEL_CTX", 8);
    return p;
}

static void reads_what_a_process_publishes(void **state)
{
    struct published *p = publish();
    char text[256] = "";

    (void)state;
    assert_true(otel_context_read(getpid(), note, text));
    assert_string_equal(text, "service.name=shop;service.version=2;");
    p->time = 0; /* it is being written */
    assert_false(otel_context_read(getpid(), note, text));
    p->time = 1;
    p->size = UINT32_MAX;
    assert_false(otel_context_read(getpid(), note, text));
    p->size = 16;
    p->payload = 8;
    assert_false(otel_context_read(getpid(), note, text));
    (void)munmap(p, 4096);
    assert_false(otel_context_read(getpid(), note, text));
}

/* What a process under that filter finds of its parent. 0: all of it. */
static int read_forbidden(int cause)
{
    char text[256] = "", byte;
    struct iovec one = {&byte, 1};

    if (!forbid_vm_readv(cause) || process_vm_readv(getpid(), &one, 1, &one, 1, 0) != -1 ||
        errno != cause)
        return 2;
    return otel_context_read(getppid(), note, text) &&
                   strcmp(text, "service.name=shop;service.version=2;") == 0
               ? 0
               : 1;
}

static void reads_it_where_process_vm_readv_is_refused(void **state)
{
    static const int causes[] = {EPERM, ENOSYS};
    struct published *p = publish();
    int status = 0;
    size_t i;
    pid_t pid;

    (void)state;
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* under Yama */
    for (i = 0; i < 2; i++) {
        pid = fork();
        if (pid == 0)
            _exit(read_forbidden(causes[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    (void)munmap(p, 4096);
}

static void finds_it_behind_very_many_mappings(void **state)
{
    enum { PAGES = 40000, PAGE = 4096 };
    const char *preloaded = getenv("LD_PRELOAD");
    struct published *p;
    char text[256] = "";
    char *many;
    int i;

    (void)state;
    if (preloaded && strstr(preloaded, "vgpreload"))
        skip(); /* valgrind has room for fewer mappings */
    many = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(many != MAP_FAILED);
    for (i = 0; i < PAGES; i += 2) /* each a mapping of its own */
        assert_int_equal(mprotect(many + (size_t)i * PAGE, PAGE, PROT_NONE), 0);
    p = publish();
    assert_true(otel_context_read(getpid(), note, text));
    assert_string_equal(text, "service.name=shop;service.version=2;");
    (void)munmap(p, PAGE);
    (void)munmap(many, (size_t)PAGES * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_strings_of_a_resource),
        cmocka_unit_test(reads_a_resource_in_a_message),
        cmocka_unit_test(refuses_what_is_cut_off),
        cmocka_unit_test(reads_what_a_process_publishes),
        cmocka_unit_test(reads_it_where_process_vm_readv_is_refused),
        cmocka_unit_test(finds_it_behind_very_many_mappings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
