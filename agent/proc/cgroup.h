/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - what a process's cgroup, or else its mounts, say of its container, pod and systemd
 * unit.
 *
 * Source:  cgroups(7); the names that runc, Docker, Podman, containerd, CRI-O, the kubelet, LXC,
 *          machined and systemd give. A container's engine may write anything there: what is
 *          no id in form is none. Mounts: proc_pid_mountinfo(5), and the places that
 *          OpenTelemetry's container detectors read.
 */
#ifndef AGENT_PROC_CGROUP_H
#define AGENT_PROC_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CGROUP_PATH_MAX = 1024,
    CGROUP_NAME_MAX = 128,
    CGROUP_CONTAINER_MAX = 65,
    CGROUP_POD_MAX = 40,
};

/* All "" if the path does not tell. */
struct cgroup {
    char path[CGROUP_PATH_MAX];           /* from the root of the hierarchy */
    char container[CGROUP_CONTAINER_MAX]; /* the id */
    char machine[CGROUP_NAME_MAX];        /* the name of an LXC or systemd-nspawn container */
    char pod[CGROUP_POD_MAX];             /* the uid of the Kubernetes pod */
    char unit[CGROUP_NAME_MAX * 2];       /* the innermost service or scope of systemd */
};

/* Reads the text of /proc/PID/cgroup. */
void cgroup_parse(const char *text, size_t size, struct cgroup *out);

/*
 * True if the mounts of the process may tell what its cgroup hides: the agent is in a cgroup
 * namespace of its own, which shows "/" for its own cgroup and "/../NAME" for one beside it. False
 * for what is in a unit of systemd: such a process is the host's, or its container is known.
 */
bool cgroup_needs_mounts(const struct cgroup *cgroup);

/*
 * Reads the text of /proc/PID/mountinfo, or its beginning, and fills what is still "" of container
 * and pod: from the cgroups that are mounted below /sys/fs/cgroup, else from the files that an
 * engine or the kubelet mounts at /etc/hostname, /etc/hosts, /etc/resolv.conf and
 * /dev/termination-log.
 *
 * In a pod those files are the sandbox's, which is no container of the pod: they give no container
 * there. Two limits: who may mount there may choose what is found, and a container that shares the
 * network of another one (docker run --network container:ID) has the files, and so the id, of that.
 */
void cgroup_parse_mounts(const char *text, size_t size, struct cgroup *out);

#endif
