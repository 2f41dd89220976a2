/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c - see operations.h. */
#include "tests/bench/operations.h"

#include "base/time_units.h"
#include "tests/bench/counters.h"
#include "tests/bench/floor.h"

void operation_init(struct operation *op, struct cpy_target *target, enum operation_kind kind)
{
    *op = (struct operation){.target = target, .kind = kind};
}

uint64_t operation_look_at(const struct cpy_frame *frames, uint32_t depth)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < depth; i++)
        sum += (uint64_t)frames[i].line + (unsigned char)frames[i].code->func[0] +
               (unsigned char)frames[i].code->file[0];
    return sum;
}

static void look_at_thread(void *ctx, const struct cpy_thread *thread)
{
    struct operation *op = ctx;

    op->got.threads++;
    op->got.frames += thread->depth;
    op->got.torn += thread->torn;
    if (op->looks)
        op->got.sink += operation_look_at(thread->frames, thread->depth);
}

static void look_at_task(void *ctx, const struct cpy_task *task)
{
    struct operation *op = ctx;
    uint32_t i;

    op->got.tasks++;
    op->got.frames += task->depth;
    if (!op->looks)
        return;
    op->got.sink += operation_look_at(task->frames, task->depth);
    for (i = 0; i < task->awaited_by_count; i++)
        op->got.sink += task->awaited_by[i];
}

typedef enum cpy_rc read_tasks(struct cpy_target *target,
                               void (*each)(void *ctx, const struct cpy_task *task), void *ctx);

/* Tasks that were torn are in the counters only. */
static enum cpy_rc run_tasks(struct operation *op, read_tasks *read)
{
    const uint64_t torn = counters_torn(cpy_stats(op->target));
    enum cpy_rc rc = read(op->target, look_at_task, op);

    op->got.torn += counters_torn(cpy_stats(op->target)) - torn;
    return rc;
}

static enum cpy_rc run_sample(struct operation *op)
{
    struct timespec used;

    if (op->cpu_clock != 0 && clock_gettime(op->cpu_clock, &used) == 0)
        cpy_note_cpu(op->target, timespec_to_ns(used), floor_now_ns());
    return cpy_sample(op->target, look_at_thread, op);
}

static enum cpy_rc run_async(struct operation *op)
{
    enum cpy_rc rc = run_sample(op);

    return rc == CPY_OK ? run_tasks(op, cpy_running_tasks) : rc;
}

enum cpy_rc operation_run(struct operation *op)
{
    op->got = (struct operation_got){0};
    op->looks = op->calls++ % OPERATION_LOOK_EVERY == 0;
    switch (op->kind) {
    case OPERATION_ASYNC:
        return run_async(op);
    case OPERATION_TASKS:
        return run_tasks(op, cpy_tasks);
    case OPERATION_STACK:
    default:
        return run_sample(op);
    }
}
