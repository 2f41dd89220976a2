/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - see program.h. */
#include "agent/proc/program.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

bool program_find(pid_t pid, struct program *out)
{
    struct proc_stat stat;
    uint64_t mark;

    if (proc_stat_read(pid, &stat) != PROC_OK || proc_exec_mark(pid, &mark) != PROC_OK)
        return false;
    *out = (struct program){{pid, stat.start}, mark};
    return true;
}

bool program_same(const struct program *one, const struct program *other)
{
    return proc_id_equal(one->id, other->id) && one->mark == other->mark;
}

void program_hold(pid_t pid, struct held_program *out)
{
    *out = (struct held_program){.pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
    if (!program_find(pid, &out->program)) /* once the pidfd holds it */
        out->program = (struct program){0};
}

enum program_state program_look(const struct held_program *held)
{
    struct pollfd ended = {.fd = held->pidfd, .events = POLLIN};
    struct program now;

    if (held->program.id.pid == 0 || !program_find(held->program.id.pid, &now) ||
        now.id.start != held->program.id.start)
        return PROGRAM_GONE;
    if (held->pidfd >= 0 && poll(&ended, 1, 0) != 0) /* after the read: it was this process */
        return PROGRAM_GONE;
    return now.mark == held->program.mark ? PROGRAM_SAME : PROGRAM_ANOTHER;
}

const char *program_state_text(enum program_state state)
{
    return state == PROGRAM_ANOTHER ? "has executed another program meanwhile" : "has ended";
}

void program_release(struct held_program *held)
{
    if (held->pidfd >= 0)
        (void)close(held->pidfd);
    held->pidfd = -1;
}

void program_format(const struct program *program, char out[PROGRAM_WORD_MAX])
{
    (void)snprintf(out, PROGRAM_WORD_MAX, "%" PRIu64 ":%" PRIu64, program->id.start, program->mark);
}

/* Reads a number; gives what stands behind it, NULL: there is none. */
static const char *parse_number(const char *text, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 ? end : NULL;
}

bool program_parse(const char *word, struct program *out)
{
    uint64_t start, mark;
    const char *at = parse_number(word, &start);

    if (!at || *at != ':')
        return false;
    at = parse_number(at + 1, &mark);
    if (!at || *at != '\0')
        return false;
    out->id.start = start;
    out->mark = mark;
    return true;
}
