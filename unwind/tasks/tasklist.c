/* SPDX-License-Identifier: Apache-2.0 */
/* tasklist.c - see tasklist.h. */
#include "unwind/tasks/tasklist.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { REPAIRS_MAX = 4096, NODE_SIZE = 16 };

struct node {
    cpy_addr at, next, prev;
};

void tasklist_init(struct tasklist *list)
{
    *list = (struct tasklist){0};
}

void tasklist_finish(struct tasklist *list)
{
    free(list->nodes);
}

static enum cpy_rc read_node(const struct reader *reader, cpy_addr at, struct node *out)
{
    const struct layout *l = reader->layout;
    unsigned char bytes[NODE_SIZE];
    enum cpy_rc rc =
        at & 7 || at == 0 ? CPY_RACED : mem_read(reader->mem, at, bytes, sizeof(bytes));

    if (rc != CPY_OK)
        return rc;
    out->at = at;
    memcpy(&out->next, bytes + l->llist.next, sizeof(out->next));
    memcpy(&out->prev, bytes + l->llist.prev, sizeof(out->prev));
    return CPY_OK;
}

static enum cpy_rc grow_tasklist(struct tasklist *list, size_t count)
{
    return ARRAY_RESERVE(list->nodes, list->capacity, count) ? CPY_OK : CPY_NOMEM;
}

static enum cpy_rc push(struct tasklist *list, cpy_addr node)
{
    enum cpy_rc rc = grow_tasklist(list, list->count + 1);

    if (rc == CPY_OK)
        list->nodes[list->count++] = node;
    return rc;
}

/* Removes nodes from the end until one is still linked; that one is read again. */
static enum cpy_rc step_back(struct tasklist *list, const struct reader *reader, cpy_addr head,
                             struct node *out)
{
    cpy_addr before;
    enum cpy_rc rc;

    while (list->count > 0) {
        before = list->count > 1 ? list->nodes[list->count - 2] : head;
        rc = read_node(reader, list->nodes[list->count - 1], out);
        if (rc == CPY_OK && out->prev == before)
            return CPY_OK;
        if (rc != CPY_OK && rc != CPY_RACED)
            return rc;
        list->count--;
    }
    return read_node(reader, head, out);
}

enum cpy_rc tasklist_read(struct tasklist *list, const struct reader *reader, cpy_addr head)
{
    struct node node, next;
    unsigned repairs = 0;
    cpy_addr milestone = 0; /* met again: a ring that does not come back to its head (Brent) */
    enum cpy_rc rc = read_node(reader, head, &node);

    list->count = 0;
    while (rc == CPY_OK && node.next != head && list->count < TASKS_MAX) {
        rc = read_node(reader, node.next, &next);
        if (rc == CPY_OK && next.prev == node.at && next.at != milestone) {
            rc = push(list, next.at);
            node = next;
            if ((list->count & (list->count - 1)) == 0)
                milestone = next.at;
        } else if (rc == CPY_OK || rc == CPY_RACED) {
            milestone = 0;
            rc = ++repairs > REPAIRS_MAX ? CPY_RACED : step_back(list, reader, head, &node);
        }
    }
    return rc;
}

size_t tasklist_bytes(const struct tasklist *list)
{
    return sizeof(list->count) + list->count * sizeof(*list->nodes);
}

void tasklist_put(const struct tasklist *list, void *bytes)
{
    memcpy(bytes, &list->count, sizeof(list->count));
    if (list->count > 0)
        memcpy((unsigned char *)bytes + sizeof(list->count), list->nodes,
               list->count * sizeof(*list->nodes));
}

enum cpy_rc tasklist_take(struct tasklist *list, const void *bytes)
{
    size_t count;
    enum cpy_rc rc;

    memcpy(&count, bytes, sizeof(count));
    rc = grow_tasklist(list, count);
    if (rc != CPY_OK)
        return rc;
    if (count > 0)
        memcpy(list->nodes, (const unsigned char *)bytes + sizeof(count),
               count * sizeof(*list->nodes));
    list->count = count;
    return CPY_OK;
}

enum cpy_rc tasklist_add(struct tasklist *list, cpy_addr node, size_t most)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->nodes[i] == node)
            return CPY_OK;
    return list->count < most ? push(list, node) : CPY_OK;
}
