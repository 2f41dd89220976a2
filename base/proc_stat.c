/* SPDX-License-Identifier: Apache-2.0 */
/* proc_stat.c - see proc_stat.h. */
#include "base/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

enum { STAT_BYTES = 1024, SMALL_BYTES = 256, TURNS_BYTES = 4096 };

#define PF_KTHREAD 0x00200000UL /* include/linux/sched.h: one of the kernel's own */

/* Fields of a stat line that are read; 3 is the state. */
enum {
    PARENT,
    GROUP,
    SESSION,
    FLAGS,
    USER_TIME,
    SYSTEM_TIME,
    WAITED_USER_TIME,
    WAITED_SYSTEM_TIME,
    THREADS,
    START,
    CPU,
    FIELDS
};

static const int field_numbers[FIELDS] = {4, 5, 6, 9, 14, 15, 16, 17, 20, 22, 39};

/* Fields that an exec sets, and a program hardly changes: code from, to, stack, data from, to,
 * heap, environment from, to. Not those of the arguments: programs put titles there. */
static const int placed_fields[] = {26, 27, 28, 45, 46, 47, 50, 51};

enum { PLACED_FIELDS = sizeof(placed_fields) / sizeof(placed_fields[0]) };

/* Reads the fields of these numbers, in order; one that the line does not have, or that is no
 * number, is 0. False: there is such a one. */
static bool read_fields(const char *text, const int *numbers, size_t count, uint64_t *out)
{
    const char *at = strrchr(text, ')'); /* a name may hold ')' */
    bool all = true;
    int field = 2;
    char *end;

    for (size_t i = 0; i < count; i++) {
        for (; at && field < numbers[i]; field++)
            at = strchr(at + 1, ' ');
        out[i] = at ? strtoull(at + 1, &end, 10) : 0;
        all = all && at && end != at + 1;
    }
    return all;
}

/* USER_HZ is 100 everywhere. */
static uint64_t ticks_to_ns(uint64_t ticks)
{
    return ticks * (UINT64_C(1000000000) / 100);
}

bool proc_stat_parse(const char *text, struct proc_stat *out)
{
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    uint64_t numbers[FIELDS];
    size_t size;

    if (!name || !end || end < name || strlen(end) < 3 ||
        !read_fields(text, field_numbers, FIELDS, numbers))
        return false;
    size = (size_t)(end - name - 1);
    *out = (struct proc_stat){
        .state = end[2],
        .parent = (pid_t)numbers[PARENT],
        .group = (pid_t)numbers[GROUP],
        .session = (pid_t)numbers[SESSION],
        .is_kernels = (numbers[FLAGS] & PF_KTHREAD) != 0,
        .threads = numbers[THREADS],
        .cpu_ns = ticks_to_ns(numbers[USER_TIME] + numbers[SYSTEM_TIME]),
        .waited_cpu_ns = ticks_to_ns(numbers[WAITED_USER_TIME] + numbers[WAITED_SYSTEM_TIME]),
        .start = numbers[START],
        .cpu = (int)numbers[CPU]};
    memcpy(out->name, name + 1, size < sizeof(out->name) ? size : sizeof(out->name) - 1);
    return true;
}

/* Parses text that was read with that result. Of a process that has just been waited for the kernel
 * may tell its number and name, and nothing else. */
static enum proc_rc parsed(enum proc_rc rc, const char *text, struct proc_stat *out)
{
    struct proc_stat stat;

    if (rc != PROC_OK)
        return rc;
    if (!proc_stat_parse(text, &stat))
        return PROC_FAILED;
    if (stat.threads == 0 && stat.parent == 0)
        return PROC_GONE;
    *out = stat;
    return PROC_OK;
}

enum proc_rc proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char text[STAT_BYTES];

    return parsed(proc_file_read(text, sizeof(text), NULL, "/proc/%d/stat", (int)pid), text, out);
}

enum proc_rc proc_stat_read_thread(pid_t pid, pid_t tid, struct proc_stat *out)
{
    char text[STAT_BYTES];
    enum proc_rc rc =
        proc_file_read(text, sizeof(text), NULL, "/proc/%d/task/%d/stat", (int)pid, (int)tid);

    return parsed(rc, text, out);
}

bool proc_stat_is_ended(const struct proc_stat *stat)
{
    return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

/* Reads the stat of a process, or thread, and closes its file. */
static enum proc_rc read_stat_file(int fd, struct proc_stat *out)
{
    enum proc_rc rc = fd < 0 ? proc_rc_of_errno(errno) : proc_stat_reread(fd, out);

    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* The search for a thread that lives. */
struct living_search {
    int at_fd; /* borrowed: `dir` is below it */
    const char *dir;
    pid_t found; /* 0: none so far */
};

static bool is_living(const struct proc_stat *stat)
{
    return stat->state != 'Z' && stat->state != 'X';
}

static bool try_living(void *ctx, pid_t tid, uint64_t inode)
{
    struct living_search *search = ctx;
    struct proc_stat stat = {.state = 'X'};
    int fd = proc_file_open(search->at_fd, "%s/task/%d/stat", search->dir, (int)tid);

    (void)inode;
    if (read_stat_file(fd, &stat) == PROC_OK && is_living(&stat))
        search->found = tid;
    return search->found == 0;
}

/* The first thread that lives, of a process the first of whose threads does not; 0: as a rule. */
static pid_t other_living(int at_fd, const char *dir)
{
    struct living_search search = {at_fd, dir, 0};
    struct proc_stat stat = {.state = 'X'};

    if (read_stat_file(proc_file_open(at_fd, "%s/stat", dir), &stat) == PROC_OK &&
        !is_living(&stat) && !proc_stat_is_ended(&stat))
        (void)proc_file_each_id(proc_file_open(at_fd, "%s/task", dir), try_living, &search);
    return search.found;
}

pid_t proc_living_thread(pid_t pid)
{
    char dir[32];
    pid_t other;

    (void)snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
    other = other_living(AT_FDCWD, dir);
    return other ? other : pid;
}

int proc_living_dir(int proc_fd)
{
    const pid_t other = other_living(proc_fd, ".");

    return other ? proc_file_open(proc_fd, "task/%d", (int)other) : proc_file_open(proc_fd, ".");
}

enum proc_rc proc_exec_mark(pid_t pid, uint64_t *out)
{
    char text[STAT_BYTES];
    struct proc_stat stat;
    uint64_t placed[PLACED_FIELDS];
    enum proc_rc rc =
        parsed(proc_file_read(text, sizeof(text), NULL, "/proc/%d/stat", (int)pid), text, &stat);

    if (rc == PROC_OK && !is_living(&stat))
        rc =
            proc_file_read(text, sizeof(text), NULL, "/proc/%d/stat", (int)proc_living_thread(pid));
    if (rc != PROC_OK)
        return rc;
    (void)read_fields(text, placed_fields, PLACED_FIELDS, placed); /* qemu-user has 44 fields */
    *out = placed[0] > 1 ? hash_fnv(HASH_START, placed, sizeof(placed)) : hash_text(stat.name);
    return PROC_OK;
}

enum proc_rc proc_stat_reread(int fd, struct proc_stat *out)
{
    char text[STAT_BYTES];

    return parsed(proc_file_reread(fd, text, sizeof(text)), text, out);
}

/* Reads the numbers that the text begins with. False: there are fewer. */
static bool read_numbers(const char *text, uint64_t *out, size_t count)
{
    char *end;

    for (size_t i = 0; i < count; i++, text = end) {
        out[i] = strtoull(text, &end, 10);
        if (end == text)
            return false;
    }
    return true;
}

/* Parses the text of a schedstat file that was read with that result. */
static enum proc_rc parse_sched(enum proc_rc rc, const char *text, struct proc_sched *out)
{
    uint64_t numbers[3];

    if (rc != PROC_OK)
        return rc;
    if (!read_numbers(text, numbers, 3))
        return PROC_FAILED;
    *out = (struct proc_sched){.cpu_ns = numbers[0], .wait_ns = numbers[1], .turns = numbers[2]};
    return PROC_OK;
}

enum proc_rc proc_sched_reread(int fd, struct proc_sched *out)
{
    char text[SMALL_BYTES];

    return parse_sched(proc_file_reread(fd, text, sizeof(text)), text, out);
}

/* Gives what follows the colon of the first line that begins with `label`; NULL: there is none. */
static const char *value_of_line(const char *text, const char *label)
{
    const char *line = text ? strstr(text, label) : NULL;

    line = line ? strchr(line, ':') : NULL;
    return line ? line + 1 : NULL;
}

/* A number of ms that has six digits after the point. False: it is none. */
static bool ms_to_ns(const char *text, uint64_t *out)
{
    char *point;
    const uint64_t ms = strtoull(text, &point, 10);

    *out = ms * 1000000 + (*point == '.' ? strtoull(point + 1, NULL, 10) : 0);
    return point != text;
}

enum proc_rc proc_turns_reread(int fd, struct proc_turns *out)
{
    char text[TURNS_BYTES];
    enum proc_rc rc = proc_file_reread(fd, text, sizeof(text));
    /* Before this line there is the thread's name, which may look like anything in 15 bytes. */
    const char *lines = strstr(text, "\n--------------------");
    const char *counted = value_of_line(lines, "\nse.exec_start "),
               *ended = value_of_line(lines, "\nnr_switches "),
               *slept = value_of_line(lines, "\nnr_voluntary_switches ");
    struct proc_turns turns;

    if (rc != PROC_OK)
        return rc;
    if (!counted || !ended || !slept || !ms_to_ns(counted, &turns.counted_ns) ||
        !read_numbers(ended, &turns.ended, 1) || !read_numbers(slept, &turns.slept, 1))
        return PROC_FAILED;
    *out = turns;
    return PROC_OK;
}

enum proc_rc proc_sched_read(pid_t pid, pid_t tid, struct proc_sched *out)
{
    char text[SMALL_BYTES];
    enum proc_rc rc =
        proc_file_read(text, sizeof(text), NULL, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);

    return parse_sched(rc, text, out);
}

enum proc_rc proc_statm_read(pid_t pid, struct proc_statm *out)
{
    uint64_t columns[6]; /* size, resident, shared, text, lib, data */
    char text[SMALL_BYTES];
    enum proc_rc rc = proc_file_read(text, sizeof(text), NULL, "/proc/%d/statm", (int)pid);

    if (rc == PROC_OK && text[0] == '0') /* it maps nothing: a zombie, or one of the kernel's */
        rc = proc_file_read(text, sizeof(text), NULL, "/proc/%d/statm",
                            (int)proc_living_thread(pid));
    if (rc != PROC_OK)
        return rc;
    if (!read_numbers(text, columns, 6))
        return PROC_FAILED;
    *out = (struct proc_statm){
        .size = columns[0], .resident = columns[1], .shared = columns[2], .data = columns[5]};
    return PROC_OK;
}

/* What is searched in a status file. */
struct status_search {
    const struct proc_status_field *fields;
    size_t count;
};

static bool take_status_line(void *ctx, char *line)
{
    const struct status_search *search = ctx;
    const struct proc_status_field *field;
    size_t i, size;

    for (i = 0; i < search->count; i++) {
        field = &search->fields[i];
        size = strlen(field->label);
        if (strncmp(line, field->label, size) == 0)
            (void)snprintf(field->text, field->size, "%s", line + size);
    }
    return true;
}

enum proc_rc proc_status_read(int fd, const struct proc_status_field *fields, size_t count)
{
    struct status_search search = {fields, count};
    enum proc_rc rc;

    for (size_t i = 0; i < count; i++)
        fields[i].text[0] = '\0';
    if (fd < 0)
        return proc_rc_of_errno(errno);
    rc = proc_file_lines(fd, take_status_line, &search);
    (void)close(fd);
    return rc;
}
