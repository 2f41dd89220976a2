/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unwind_image.c - any bytes as a target's memory: stacks within bounds or a failure. */
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/images/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t total; /* what is lent is read through, so that a sanitizer sees it */

static void check_thread(void *ctx, const struct cpy_thread *thread)
{
    const struct cpy_frame *frame;
    uint32_t i;

    *(size_t *)ctx += 1;
    require(thread->depth <= CPY_DEPTH_MAX);
    require(!thread->torn || (thread->depth == 0 && !thread->cut));
    total += thread->name ? strlen(thread->name) : 0;
    for (i = 0; i < thread->depth; i++) {
        frame = &thread->frames[i];
        require(frame->line >= 0 || frame->line == frame->code->first_line);
        total += strlen(frame->code->func) + strlen(frame->code->file);
    }
}

static void check_task(void *ctx, const struct cpy_task *task)
{
    uint32_t i;

    *(size_t *)ctx += 1;
    require(task->depth <= CPY_DEPTH_MAX);
    total += task->name ? strlen(task->name) : 0;
    for (i = 0; i < task->depth; i++)
        total += strlen(task->frames[i].code->func) + strlen(task->frames[i].code->file);
    for (i = 0; i < task->awaited_by_count; i++)
        require(i == 0 || task->awaited_by[i - 1] < task->awaited_by[i]);
}

/* Nothing moves in an image: what is given again is as much as was given first. */
static void check_tasks(struct cpy_target *target, size_t given[2])
{
    size_t now[2] = {0, 0};

    if (cpy_tasks(target, check_task, &now[0]) != CPY_OK)
        return;
    if (cpy_sample(target, check_thread, &(size_t){0}) == CPY_OK)
        (void)!cpy_running_tasks(target, check_task, &now[1]);
    require(given[0] == SIZE_MAX || given[0] == now[0]);
    given[0] = now[0];
    require(given[1] == SIZE_MAX || given[1] == now[1]);
    given[1] = now[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct cpy_target *target = NULL;
    struct err err = {""};
    char path[64];
    size_t threads, tasks[2] = {SIZE_MAX, SIZE_MAX};
    int round;

    if (fd < 0)
        fd = memfd_create("image", MFD_CLOEXEC);
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (image_open_target(path, &target, &err) != CPY_OK) {
        require(target == NULL && (err.text[0] || size == 0));
        return 0;
    }
    cpy_set_options(target, &(struct cpy_options){.tasks = true});
    for (round = 0; round < 4; round++) {
        check_tasks(target, tasks);
        threads = 0;
        if (cpy_sample(target, check_thread, &threads) == CPY_OK)
            require(threads <= (size_t)CPY_THREADS_MAX * CPY_INTERPRETERS_MAX);
    }
    cpy_close(target);
    return 0;
}
