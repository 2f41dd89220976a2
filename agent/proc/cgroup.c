/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h. */
#include "agent/proc/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ID_SIZE = 64, UUID_SIZE = 36 };

static bool is_hex(const char *text, size_t size)
{
    return strspn(text, "0123456789abcdef") >= size;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);

    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

/* Copies as much as there is room for. */
static void copy_truncated(char *out, size_t room, const char *text, size_t size)
{
    size = size < room ? size : room - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

/* True for 8-4-4-4-12 hexadecimal digits; systemd's names have "_" for "-". */
static bool is_uuid(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < UUID_SIZE; i++)
        if (form[i] == 'x' ? !is_hex(text + i, 1) : text[i] != '-' && text[i] != '_')
            return false;
    return true;
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "slice:crio:ID", "ID", and ECS's ID-NUMBER. */
static void read_container(const char *part, struct cgroup *out)
{
    size_t size = strlen(part) - (ends_with(part, ".scope") ? strlen(".scope") : 0), i;
    const char *id = part;

    for (i = 0; i < size; i++)
        if ((part[i] == '-' || part[i] == ':') && size - i - 1 >= ID_SIZE)
            id = part + i + 1;
    if (size - (size_t)(id - part) == ID_SIZE && is_hex(id, ID_SIZE))
        copy_truncated(out->container, sizeof(out->container), id, ID_SIZE);
    else if (size > 33 && size < ID_SIZE && is_hex(part, 32) && part[32] == '-' &&
             strspn(part + 33, "0123456789") == size - 33)
        copy_truncated(out->container, sizeof(out->container), part, size);
}

/* "podUID", "kubepods-burstable-podUID.slice"; static pods have a hash in place of the UID. */
static void read_pod(const char *part, struct cgroup *out)
{
    const char *at = part, *uid = NULL;
    char *c;

    for (; (at = strstr(at, "pod")); at++)
        if (at == part || at[-1] == '-')
            uid = at + 3;
    if (!uid)
        return;
    if (is_uuid(uid) && (!uid[UUID_SIZE] || strcmp(uid + UUID_SIZE, ".slice") == 0))
        copy_truncated(out->pod, sizeof(out->pod), uid, UUID_SIZE);
    else if (is_hex(uid, 32) && (!uid[32] || strcmp(uid + 32, ".slice") == 0))
        copy_truncated(out->pod, sizeof(out->pod), uid, 32);
    for (c = out->pod; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

/* systemd writes "\x2d" for a "-" in a name. */
static void unescape_unit_name(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (strncmp(text, "\\x2d", 4) == 0) {
            *to++ = '-';
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

/* "lxc.payload.NAME", "lxc/NAME", "machine-NAME.scope", "systemd-nspawn@NAME.service". */
static void read_machine(const char *part, const char *before, struct cgroup *out)
{
    static const struct {
        const char *start, *end;
    } forms[] = {{"lxc.payload.", ""}, {"machine-", ".scope"}, {"systemd-nspawn@", ".service"}};
    size_t i, start, size = strlen(part), end;

    if (strcmp(before, "lxc") == 0)
        copy_truncated(out->machine, sizeof(out->machine), part, size);
    for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        start = strlen(forms[i].start);
        end = strlen(forms[i].end);
        if (strncmp(part, forms[i].start, start) == 0 && size > start + end &&
            strcmp(part + size - end, forms[i].end) == 0)
            copy_truncated(out->machine, sizeof(out->machine), part + start, size - start - end);
    }
    unescape_unit_name(out->machine);
}

static void read_path_component(const char *part, const char *before, struct cgroup *out)
{
    read_container(part, out);
    read_pod(part, out);
    read_machine(part, before, out);
    if (ends_with(part, ".service") || ends_with(part, ".scope"))
        copy_truncated(out->unit, sizeof(out->unit), part, strlen(part));
}

/* Reads all parts of out->path, the outermost first. */
static void read_path(struct cgroup *out)
{
    char part[CGROUP_PATH_MAX], before[CGROUP_PATH_MAX] = "";
    const char *at = out->path;
    size_t size;

    for (; *at; at += size) {
        at += strspn(at, "/");
        size = strcspn(at, "/");
        if (size == 0)
            return;
        copy_truncated(part, sizeof(part), at, size);
        read_path_component(part, before, out);
        copy_truncated(before, sizeof(before), part, size);
    }
}

/* How much a line's path tells. */
static int weigh_cgroup_path(const struct cgroup *cgroup, const char *controllers)
{
    if (cgroup->container[0] || cgroup->pod[0] || cgroup->machine[0])
        return 4;
    if (cgroup->unit[0])
        return 3;
    if (strcmp(cgroup->path, "/") == 0)
        return 1;
    return 2 + (!controllers[0] || strcmp(controllers, "name=systemd") == 0);
}

/* "ID:CONTROLLERS:PATH" */
static void read_cgroup_line(const char *line, size_t size, struct cgroup *best, int *best_weight)
{
    struct cgroup cgroup = {.path = ""};
    const char *first = memchr(line, ':', size), *second;
    char controllers[64];
    int weight;

    second = first ? memchr(first + 1, ':', size - (size_t)(first + 1 - line)) : NULL;
    if (!second)
        return;
    copy_truncated(controllers, sizeof(controllers), first + 1, (size_t)(second - first - 1));
    copy_truncated(cgroup.path, sizeof(cgroup.path), second + 1,
                   size - (size_t)(second + 1 - line));
    read_path(&cgroup);
    weight = weigh_cgroup_path(&cgroup, controllers);
    if (weight <= *best_weight)
        return;
    *best_weight = weight;
    *best = cgroup;
}

void cgroup_parse(const char *text, size_t size, struct cgroup *out)
{
    const char *end;
    int best = 0;
    size_t line;

    *out = (struct cgroup){.path = ""};
    for (; size > 0; text += line, size -= line) {
        end = memchr(text, '\n', size);
        line = end ? (size_t)(end - text) : size;
        read_cgroup_line(text, line, out, &best);
        line += end != NULL;
    }
}
