/* SPDX-License-Identifier: Apache-2.0 */
/* hang_dump.c - see hang_dump.h. */
#include "agent/dump/hang_dump.h"

#include <string.h>

#include "agent/dump/async_tasks.h"
#include "agent/dump/async_tree.h"
#include "agent/dump/dump.h"
#include "agent/dump/snapshot.h"

enum { TRIES = 10, WHOLE_MAX = 16 << 20 };

static void add_hung_threads(struct cpy_target *target, struct buf *out)
{
    const struct cpy_options options = {.status = CPY_STATUS_CPU | CPY_STATUS_EXCEPTION |
                                                  CPY_STATUS_GIL_WAIT};
    struct snapshot snapshot;
    enum cpy_rc rc = CPY_RACED;
    struct dump dump;

    cpy_set_options(target, &options);
    snapshot_init(&snapshot);
    for (int tries = 0; rc == CPY_RACED && tries < TRIES; tries++) {
        snapshot_reset(&snapshot);
        rc = cpy_sample(target, snapshot_add, &snapshot);
    }
    dump = (struct dump){.threads = snapshot.threads, .thread_count = snapshot.count};
    if (rc == CPY_OK && !snapshot.failed)
        dump_text(&dump, out);
    else
        buf_add_fmt(out, "its threads cannot be read: %s\n",
                    cpy_rc_text(rc == CPY_OK ? CPY_NOMEM : rc));
    snapshot_finish(&snapshot);
}

/* Nothing where there are none that can be read. */
static void add_tasks(struct cpy_target *target, struct buf *out)
{
    struct async_tasks tasks;
    struct buf tree;

    async_tasks_init(&tasks);
    buf_init(&tree, WHOLE_MAX);
    if (async_tasks_take(&tasks, target) == CPY_OK && tasks.count > 0 &&
        async_tree_all(&tree, &tasks) && !buf_failed(&tree)) {
        buf_add_fmt(out, "\n%zu asyncio task%s\n", tasks.count, tasks.count == 1 ? "" : "s");
        buf_add(out, tree.data, tree.size);
    }
    buf_finish(&tree);
    async_tasks_finish(&tasks);
}

/* Adds the lines that there is room for. */
static void add_whole_lines(const struct buf *whole, struct buf *out)
{
    static const char truncated[] = "... the rest does not fit\n";
    size_t size = whole->size;

    if (size > HANG_DUMP_MAX) {
        size = HANG_DUMP_MAX - sizeof(truncated);
        while (size > 0 && whole->data[size - 1] != '\n')
            size--;
    }
    buf_add(out, whole->data, size);
    if (size < whole->size || buf_failed(whole))
        buf_add_str(out, truncated);
}

void hang_dump(const struct program *program, struct buf *out)
{
    const struct held_program held = {.program = *program, .pidfd = -1};
    struct cpy_target *target = NULL;
    enum program_state state;
    struct err err = {""};
    struct buf whole;
    enum cpy_rc rc = cpy_open(program->id.pid, &target, &err);

    if (rc != CPY_OK) {
        buf_add_fmt(out, "it cannot be read: %s\n", err.text);
        return;
    }
    buf_init(&whole, WHOLE_MAX);
    add_hung_threads(target, &whole);
    add_tasks(target, &whole);
    state = program_look(&held);
    if (state == PROGRAM_SAME)
        add_whole_lines(&whole, out);
    else
        buf_add_fmt(out, "it cannot be read: it %s\n", program_state_text(state));
    buf_finish(&whole);
    cpy_close(target);
}
