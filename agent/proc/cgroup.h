/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - what the path of a process's cgroup says: its container, pod and systemd unit.
 *
 * Source:  cgroups(7); the names that runc, Docker, Podman, containerd, CRI-O, the kubelet, LXC,
 *          machined and systemd give. A container's engine may write anything there: what is
 *          no id in form is none.
 */
#ifndef AGENT_PROC_CGROUP_H
#define AGENT_PROC_CGROUP_H

#include <stddef.h>

enum { CGROUP_PATH_MAX = 1024, CGROUP_NAME_MAX = 128 };

/* All "" if the path does not tell. */
struct cgroup {
    char path[CGROUP_PATH_MAX];     /* from the root of the hierarchy */
    char container[65];             /* the id */
    char machine[CGROUP_NAME_MAX];  /* the name of an LXC or systemd-nspawn container */
    char pod[40];                   /* the uid of the Kubernetes pod */
    char unit[CGROUP_NAME_MAX * 2]; /* the innermost service or scope of systemd */
};

/* Reads the text of /proc/PID/cgroup. */
void cgroup_parse(const char *text, size_t size, struct cgroup *out);

#endif
