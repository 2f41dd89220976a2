/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - see labels.h. */
#include "agent/discover/labels.h"

#include <string.h>

#include "agent/host/escape.h"
#include "base/utf8.h"

const char *const labels_found[] = {"host.name",
                                    "container.id",
                                    "k8s.pod.uid",
                                    "k8s.pod.name",
                                    "k8s.namespace.name",
                                    "k8s.container.name",
                                    "service.namespace",
                                    "service.version",
                                    "deployment.environment",
                                    "deployment.environment.name",
                                    "process.runtime.version",
                                    NULL};

bool labels_next(const struct labels *labels, size_t *at, const char **name, const char **value)
{
    if (*at >= labels->size)
        return false;
    *name = labels->text + *at;
    *value = *name + strlen(*name) + 1;
    *at = (size_t)(*value - labels->text) + strlen(*value) + 1;
    return true;
}

const char *labels_get(const struct labels *labels, const char *wanted)
{
    const char *name, *value;
    size_t at = 0;

    while (labels_next(labels, &at, &name, &value))
        if (strcmp(name, wanted) == 0)
            return value;
    return NULL;
}

bool labels_equal(const struct labels *a, const struct labels *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

bool labels_are_good(const struct labels *labels)
{
    const char *name, *value;
    size_t at = 0, count = 0, i, ends = 0;

    if (labels->size > sizeof(labels->text) || labels->count > LABELS_MAX)
        return false;
    for (i = 0; i < labels->size; i++)
        ends += labels->text[i] == '\0';
    if (ends != 2 * labels->count || (labels->size > 0 && labels->text[labels->size - 1]))
        return false;
    while (labels_next(labels, &at, &name, &value))
        count++;
    return count == labels->count;
}

void labels_clean(const char *text, char *out, size_t size)
{
    struct buf clean;
    size_t used;

    buf_init(&clean, 64 * size + 64);
    escape_add(&clean, text, strnlen(text, 4 * size));
    used = buf_failed(&clean) ? 0 : clean.size;
    if (used >= size)
        for (used = size - 1; used > 0 && utf8_is_continuation((char)clean.data[used]); used--)
            ; /* not in the middle of a character */
    if (used > 0)
        memcpy(out, clean.data, used);
    out[used] = '\0';
    buf_finish(&clean);
}

void labels_put(struct labels *labels, const char *name, const char *value)
{
    char clean[LABEL_VALUE_MAX];
    const char *other, *ignored;
    size_t at = 0, insert_at = 0, name_size = strlen(name) + 1, size;

    labels_clean(value, clean, sizeof(clean));
    size = name_size + strlen(clean) + 1;
    if (!clean[0] || labels_get(labels, name) || labels->count == LABELS_MAX ||
        size > sizeof(labels->text) - labels->size)
        return;
    while (labels_next(labels, &at, &other, &ignored) && strcmp(other, name) < 0)
        insert_at = at;
    memmove(labels->text + insert_at + size, labels->text + insert_at, labels->size - insert_at);
    memcpy(labels->text + insert_at, name, name_size);
    memcpy(labels->text + insert_at + name_size, clean, size - name_size);
    labels->size += size;
    labels->count++;
}
