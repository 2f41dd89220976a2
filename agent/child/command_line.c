/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.c - see command_line.h. */
#include "agent/child/command_line.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"

#define LIMIT_NS NS_PER_S

struct job {
    pid_t pid;
    int pipe[2]; /* it holds PROC_COMMAND_MAX bytes: a write never waits */
};

/* In the child. */
static void write_command_line(void *ctx)
{
    const struct job *job = ctx;
    char text[PROC_COMMAND_MAX] = "";

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    proc_command_line(job->pid, text);
    if (write(job->pipe[1], text, strlen(text)) < 0)
        _exit(1);
}

bool command_line_read(pid_t pid, char out[PROC_COMMAND_MAX])
{
    struct job job = {.pid = pid};
    struct child_process child;
    ssize_t got = 0;
    int status = 0;

    out[0] = '\0';
    if (pipe2(job.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return true;
    if (child_process_fork(&child, write_command_line, &job) == 0) {
        status = child_process_wait(&child, clock_mono_ns() + LIMIT_NS);
        if (status != CHILD_PROCESS_STATUS_RUNS)
            got = read(job.pipe[0], out, PROC_COMMAND_MAX - 1);
        child_process_end(&child, clock_mono_ns());
    }
    out[got > 0 ? got : 0] = '\0';
    (void)close(job.pipe[0]);
    (void)close(job.pipe[1]);
    return status != CHILD_PROCESS_STATUS_RUNS;
}
