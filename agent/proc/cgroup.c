/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h. */
#include "agent/proc/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { ID_SIZE = 64, UUID_SIZE = 36 };

static bool is_hex(const char *text, size_t size)
{
    return strspn(text, "0123456789abcdef") >= size;
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
static void read_container(const char *part, char out[CGROUP_CONTAINER_MAX])
{
    size_t size = strlen(part) - (text_ends_with(part, ".scope") ? strlen(".scope") : 0), i;
    const char *id = part;

    for (i = 0; i < size; i++)
        if ((part[i] == '-' || part[i] == ':') && size - i - 1 >= ID_SIZE)
            id = part + i + 1;
    if (size - (size_t)(id - part) == ID_SIZE && is_hex(id, ID_SIZE))
        copy_truncated(out, CGROUP_CONTAINER_MAX, id, ID_SIZE);
    else if (size > 33 && size < ID_SIZE && is_hex(part, 32) && part[32] == '-' &&
             strspn(part + 33, "0123456789") == size - 33)
        copy_truncated(out, CGROUP_CONTAINER_MAX, part, size);
}

/* "UID" or "UID.slice"; static pods have a hash in place of the UID. */
static void read_pod_uid(const char *uid, char out[CGROUP_POD_MAX])
{
    size_t size = is_uuid(uid) ? UUID_SIZE : is_hex(uid, 32) ? 32 : 0;
    char *c;

    if (size == 0 || (uid[size] && strcmp(uid + size, ".slice") != 0))
        return;
    copy_truncated(out, CGROUP_POD_MAX, uid, size);
    for (c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

/* "podUID", "kubepods-burstable-podUID.slice" */
static void read_pod(const char *part, char out[CGROUP_POD_MAX])
{
    const char *at = part, *uid = NULL;

    for (; (at = strstr(at, "pod")); at++)
        if (at == part || at[-1] == '-')
            uid = at + 3;
    if (uid)
        read_pod_uid(uid, out);
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
    read_container(part, out->container);
    read_pod(part, out->pod);
    read_machine(part, before, out);
    if (text_ends_with(part, ".service") || text_ends_with(part, ".scope"))
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

bool cgroup_needs_mounts(const struct cgroup *cgroup)
{
    if (cgroup->pod[0] || cgroup->machine[0])
        return false;
    if (cgroup->container[0]) /* of a pod, maybe: a sidecar does not see the part of the path */
        return strncmp(cgroup->path, "/../", 4) == 0;
    return !cgroup->unit[0];
}

/* A name of NAME_MAX bytes fits. One that is longer because of its escapes, "\\040", is no id. */
enum { MOUNT_PART_MAX = 256 };

struct span {
    const char *text;
    size_t size;
};

/* The mount points that tell, the best first: containers in a pod of Podman share hosts and
 * resolv.conf, but not hostname. */
enum mount_place { AT_CGROUP, AT_HOSTNAME, AT_HOSTS, AT_RESOLV_CONF, AT_TERMINATION_LOG, PLACES };

/* What the mounts at one place say; "": nothing. */
struct mount_ids {
    char container[CGROUP_CONTAINER_MAX];
    char pod[CGROUP_POD_MAX];
};

/* Takes what is before the next `end`, or all that is left, off *rest. */
static struct span take_until(struct span *rest, char end)
{
    const char *at = memchr(rest->text, end, rest->size);
    struct span taken = {rest->text, at ? (size_t)(at - rest->text) : rest->size};
    size_t used = taken.size + (at != NULL);

    rest->text += used;
    rest->size -= used;
    return taken;
}

static bool span_is(struct span span, const char *text)
{
    return span.size == strlen(text) && memcmp(span.text, text, span.size) == 0;
}

/* Takes the next part of a path; "" if it is too long to be an id. */
static void take_part(struct span *path, char out[MOUNT_PART_MAX])
{
    struct span part = take_until(path, '/');

    copy_truncated(out, MOUNT_PART_MAX, part.text, part.size < MOUNT_PART_MAX ? part.size : 0);
}

static enum mount_place mount_place_of(struct span point, struct span type)
{
    static const char cgroups[] = "/sys/fs/cgroup";
    static const char *const files[PLACES] = {
        [AT_HOSTNAME] = "/etc/hostname",
        [AT_HOSTS] = "/etc/hosts",
        [AT_RESOLV_CONF] = "/etc/resolv.conf",
        [AT_TERMINATION_LOG] = "/dev/termination-log",
    };
    struct span start = {point.text, sizeof(cgroups) - 1};
    enum mount_place place = AT_HOSTNAME;

    if (span_is(type, "cgroup") || span_is(type, "cgroup2"))
        return point.size >= start.size && span_is(start, cgroups) &&
                       (point.size == start.size || point.text[start.size] == '/')
                   ? AT_CGROUP
                   : PLACES;
    while (place < PLACES && !span_is(point, files[place]))
        place++;
    return place;
}

/* A path of a cgroup, maybe from above the root: "/../../kubepods-podUID.slice/crio-ID.scope" */
static void read_mounted_cgroup(struct span root, struct mount_ids *out)
{
    char part[MOUNT_PART_MAX] = "";

    while (root.size > 0) {
        take_part(&root, part);
        read_container(part, out->container);
        read_pod(part, out->pod);
    }
}

/*
 * The path of a file that an engine made, in its file system:
 *   .../containers/ID/hostname                     Docker
 *   .../overlay-containers/ID/userdata/hostname    Podman; CRI-O, where it is the sandbox's ID
 *   .../containers/NAMESPACE/ID/hostname           nerdctl
 *   .../sandboxes/ID/hostname                      containerd; no container's
 *   .../pods/UID/etc-hosts                         the kubelet
 */
static void read_mounted_file(struct span root, struct mount_ids *out)
{
    char part[MOUNT_PART_MAX] = "", before[MOUNT_PART_MAX];
    int since = 2; /* parts since that of the containers */

    for (;;) {
        memcpy(before, part, sizeof(before));
        take_part(&root, part);
        if (root.size == 0)
            return; /* the file's name */
        if (strcmp(before, "pods") == 0)
            read_pod_uid(part, out->pod);
        if (since < 2 && strcmp(before, "sandboxes") != 0 && strlen(part) == ID_SIZE &&
            is_hex(part, ID_SIZE))
            copy_truncated(out->container, sizeof(out->container), part, ID_SIZE);
        since =
            strcmp(part, "containers") == 0 || text_ends_with(part, "-containers") ? 0 : since + 1;
    }
}

/* "ID PARENT DEVICE ROOT POINT OPTIONS [OPTIONAL ...] - TYPE SOURCE OPTIONS" */
static void read_mount_line(struct span line, struct mount_ids ids[PLACES])
{
    struct span root, point, field;
    enum mount_place place;

    for (int i = 0; i < 3; i++)
        (void)take_until(&line, ' ');
    root = take_until(&line, ' ');
    point = take_until(&line, ' ');
    do
        field = take_until(&line, ' ');
    while (line.size > 0 && !span_is(field, "-"));
    place = mount_place_of(point, take_until(&line, ' '));
    if (place == AT_CGROUP)
        read_mounted_cgroup(root, &ids[place]);
    else if (place != PLACES && line.size > 0)
        read_mounted_file(root, &ids[place]);
}

void cgroup_parse_mounts(const char *text, size_t size, struct cgroup *out)
{
    struct mount_ids ids[PLACES] = {{.container = ""}};
    const char *container = "", *pod = out->pod;
    struct span rest = {text, size};
    size_t count = PLACES;

    while (memchr(rest.text, '\n', rest.size)) /* a last line without an end is cut off */
        read_mount_line(take_until(&rest, '\n'), ids);
    for (size_t i = 0; i < PLACES; i++)
        pod = pod[0] ? pod : ids[i].pod;
    if (pod[0] || rest.size > 0) /* in a pod, or maybe: the files are the sandbox's */
        count = AT_HOSTNAME;
    for (size_t i = 0; i < count; i++)
        container = container[0] ? container : ids[i].container;
    if (!out->container[0])
        copy_truncated(out->container, sizeof(out->container), container, strlen(container));
    if (!out->pod[0])
        copy_truncated(out->pod, sizeof(out->pod), pod, strlen(pod));
}
