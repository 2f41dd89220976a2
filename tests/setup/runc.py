# SPDX-License-Identifier: Apache-2.0
"""Runs commands in containers by runc, with the rights that container engines give by default."""

import json
import os
import shutil
import subprocess

DEADLINE_S = 120
SECCOMP = "/usr/share/containers/seccomp.json"  # what podman and, but for details, Docker use
# What Docker gives a container's root.
DOCKER = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
          "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
          "CAP_AUDIT_WRITE"]


def seccomp(capabilities, without=()):
    """The runtime's default profile as an OCI bundle has it."""
    with open(SECCOMP, encoding="utf-8") as file:
        profile = json.load(file)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    calls = []
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") and not set(includes["caps"]) <= set(capabilities):
            continue
        if set(excludes.get("caps") or ()) & set(capabilities) or machine in (excludes.get("arches") or ()):
            continue
        if includes.get("arches") and machine not in includes["arches"]:
            continue
        names = [name for name in rule["names"] if name not in without]
        if names:
            calls.append({key: rule[key] for key in ("action", "args", "errnoRet") if rule.get(key)} | {"names": names})
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": 38,
            "architectures": ["SCMP_ARCH_X86_64" if machine == "amd64" else "SCMP_ARCH_AARCH64"], "syscalls": calls}


def why_not():
    """Why there can be no containers here; None: there can be."""
    if os.geteuid() != 0:
        return "containers need root"
    return None if shutil.which("runc") and os.path.exists(SECCOMP) else "needs runc and " + SECCOMP


class Container:
    """Runs commands by runc on a tree of files, read-only but for /run: this machine's own, if it is told no other."""

    def __init__(self, folder, root="/"):
        self.folder, self.root = folder, root
        (folder / "rootfs").mkdir()
        (folder / "run").mkdir(mode=0o777)
        (folder / "run").chmod(0o777)
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        self.spec = json.loads((folder / "config.json").read_text())
        self.names = []

    def bundle(self, words, user=0, capabilities=DOCKER, without=(), env=(), mounts=(), host_pids=False,
               pids_of=None, no_new_privileges=False, cgroup=None, proc_options=()):
        """Writes config.json. mounts: (path here, path there, "rw" or "ro"); pids_of: whose processes it shares."""
        spec = json.loads(json.dumps(self.spec))
        held = capabilities if user == 0 else []
        spec["process"].update(terminal=False, args=[str(word) for word in words], rlimits=[],
                               user={"uid": user, "gid": user}, env=["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", *env],
                               capabilities={"bounding": capabilities, "permitted": held, "effective": held},
                               noNewPrivileges=no_new_privileges)
        spec["root"] = {"path": str(self.folder / "rootfs"), "readonly": True}
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["type"] != "cgroup"]
        for mount in spec["mounts"]:
            if mount["type"] == "proc":
                mount["options"] = mount.get("options", []) + list(proc_options)
        spec["mounts"] += [{"destination": there, "type": "bind", "source": str(here), "options": ["bind", how]}
                           for here, there, how in [(self.folder / "run", "/run", "rw"), *mounts]]
        spec["linux"]["seccomp"] = seccomp(capabilities, without)
        spec["linux"]["namespaces"] = [one for one in spec["linux"]["namespaces"]
                                       if not (host_pids and one["type"] == "pid")]
        for one in spec["linux"]["namespaces"]:
            if pids_of and one["type"] == "pid":
                one["path"] = "/proc/%d/ns/pid" % pids_of
        if cgroup:
            spec["linux"]["cgroupsPath"] = cgroup
        (self.folder / "config.json").write_text(json.dumps(spec))

    def start(self, words, **rights):
        """Starts one with pipes; stop() ends it."""
        self.bundle(words, **rights)
        self.names.append("pystrobe-%d-%s-%d" % (os.getpid(), self.folder.name, len(self.names)))
        inside = 'mount --bind "$3" "$1/rootfs" && cd "$1" && exec runc run "$2"'
        return subprocess.Popen(["unshare", "-m", "sh", "-c", inside, "-", str(self.folder), self.names[-1],
                                 str(self.root)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, words, **rights):
        process = self.start(words, **rights)
        out, errors = process.communicate(timeout=DEADLINE_S)
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    def pid(self):
        """The first process of the one that was started last; None: there is none yet."""
        done = subprocess.run(["runc", "state", self.names[-1]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False)
        return json.loads(done.stdout).get("pid") if done.returncode == 0 else None

    def signal(self, name):
        """Sends a signal to the first process of the one that was started last."""
        subprocess.run(["runc", "kill", self.names[-1], name], check=True)

    def stop(self):
        for name in self.names:
            subprocess.run(["runc", "delete", "--force", name], stderr=subprocess.DEVNULL, check=False)
