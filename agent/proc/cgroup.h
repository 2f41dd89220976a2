/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - finds the container, pod and systemd unit of a process in the path of its cgroup, or
 * else in its mounts.
 *
 * Source:  cgroups(7); the names that runc, Docker, Podman, containerd, CRI-O, the kubelet, LXC,
 *          machined and systemd give. Other text in place of an id is ignored. Mounts:
 *          proc_pid_mountinfo(5), and the places that OpenTelemetry's container detectors read.
 */
#ifndef AGENT_PROC_CGROUP_H
#define AGENT_PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes, with the final 0 byte. */
enum {
    CGROUP_PATH_MAX = 1024,
    CGROUP_NAME_MAX = 128,
    CGROUP_CONTAINER_MAX = 65,
    CGROUP_POD_MAX = 40,
};

/* A field is "" if it is not known or the process has none. */
struct cgroup {
    char path[CGROUP_PATH_MAX];           /* from the root of the hierarchy */
    char container[CGROUP_CONTAINER_MAX]; /* the id */
    char machine[CGROUP_NAME_MAX];        /* the name of an LXC or systemd-nspawn container */
    char pod[CGROUP_POD_MAX];             /* the uid of the Kubernetes pod */
    char unit[CGROUP_NAME_MAX * 2];       /* the innermost service or scope of systemd */
};

/* Parses the text of /proc/PID/cgroup. Of several lines the one that tells most counts. */
void cgroup_parse(const char *text, size_t size, struct cgroup *out);

/*
 * True if container or pod may be found in the mounts only, because the agent is in a cgroup
 * namespace of its own: the kernel then shows "/" for the agent's cgroup, and "/../NAME" for one
 * beside it. False if the pod or machine is known, or if the process is in a systemd unit without
 * a container, which makes it one of the host's.
 */
bool cgroup_needs_mounts(const struct cgroup *cgroup);

/*
 * Parses the text of /proc/PID/mountinfo, or its beginning, and sets container and pod if they are
 * still "": from the cgroups that are mounted below /sys/fs/cgroup, else from the files that an
 * engine or the kubelet mounts at /etc/hostname, /etc/hosts, /etc/resolv.conf and
 * /dev/termination-log.
 *
 * In a pod these files belong to the sandbox, which is not one of the pod's containers. So they
 * give no container there, and none if the text is cut. Limits: a process that may mount can fake
 * the result. A container that shares the network of another one (docker run --network
 * container:ID) has that one's files, and so gets its id.
 */
void cgroup_parse_mounts(const char *text, size_t size, struct cgroup *out);

#endif
