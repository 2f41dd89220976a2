# SPDX-License-Identifier: Apache-2.0
"""A bare Debian 12 whose `docker` builds images and runs containers, in a folder.

The command is Podman's (podman-docker), as Docker's needs a daemon that changes the network of the machine. Containers
have the network of this machine. No registry is asked: the images that others are built from are made of cached roots,
and bear the names of those that a registry would send.
"""

import os
import subprocess

import clean_root
import machine
import roots

PACKAGES = ["podman-docker", "runc"]
SOURCE = "/srv/pystrobe"
IMAGES = {
    "docker.io/library/debian:bookworm-slim": ("bare", clean_root.PACKAGES),
    "docker.io/library/python:3": ("booted", machine.PACKAGES),
}
# What a slim image has not.
LEFT_OUT = ["./usr/share/doc", "./usr/share/man", "./usr/share/locale", "./var/cache/apt", "./var/lib/apt/lists"]
# (The other runtime, crun, wants a machine with cgroups of version 2.)
SETTINGS = """[containers]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
# $1: the root, $2: an empty folder. It ends with its input. Images cannot lie on an overlay. The root is that of the mount
# namespace, not only of processes in it: `docker exec` enters the namespace of a container, which is a copy of this one.
SET_UP = r"""
set -eu
folder=$2 root=$2/root
mount -t tmpfs -o size=4g tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/images" "$root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$folder/upper,workdir=$folder/work" "$root"
mkdir -p "$root/var/lib/containers"
mount --bind "$folder/images" "$root/var/lib/containers"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
cd "$root"
mkdir outside
pivot_root . outside
umount -l /outside
echo ready
exec cat
"""
# Without layers in between, an image is built in half the time.
ENVIRONMENT = ["HOME=/root", "PATH=" + machine.PATH, "DEBIAN_FRONTEND=noninteractive", "BUILDAH_LAYERS=false"]


class Engine:
    """Has the source that `archive` holds in SOURCE. All of it is in memory, and gone when it stops."""

    def __init__(self, folder, archive, log):
        os.makedirs(folder, exist_ok=True)
        self.log_file = open(folder + ".log", "w", encoding="utf-8")
        base = roots.ensure(machine.SUITE, "bare", clean_root.PACKAGES, True, log)
        self.holder = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", SET_UP, "set-up",
                                        base, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log_file)
        try:
            if self.holder.stdout.readline() != b"ready\n":
                raise roots.Unavailable("no engine can be set up; see " + self.log_file.name)
            self.fill(archive, log)
        except BaseException:
            self.stop()
            raise

    def fill(self, archive, log):
        self.pid = machine.first_process_below(self.holder.pid)
        self.root = "/proc/%d/root" % self.pid
        self.do(machine.APT_GET + "update", stdout=self.log_file)
        self.do(machine.APT_GET + "install " + " ".join(PACKAGES), stdout=self.log_file)
        roots.write_inside(self.root, "/etc/containers/containers.conf", SETTINGS, self.log_file)
        roots.write_inside(self.root, "/etc/containers/nodocker", "", self.log_file)  # or each command says that it is Podman
        os.makedirs(self.root + SOURCE)
        roots.run(["tar", "-C", self.root + SOURCE, "--strip-components=1", "--no-same-owner", "-xzf", archive], self.log_file)
        for name, (kind, packages) in IMAGES.items():
            self.take(name, roots.ensure(machine.SUITE, kind, packages, True, log))

    def run(self, script, folder="/", **options):
        """Runs a script in there, as root; gives what subprocess does."""
        proxies = ["%s=%s" % (name, os.environ[name]) for name in ("http_proxy", "https_proxy") if name in os.environ]
        return subprocess.run(["nsenter", "-t", str(self.pid), "-m", "-p", "/usr/bin/env", "-i", *ENVIRONMENT, *proxies,
                               "bash", "-euc", 'cd "$1"; eval "$2"', "run", folder, script], timeout=roots.TIMEOUT_S,
                              check=False, **dict({"stdin": subprocess.DEVNULL, "stderr": self.log_file}, **options))

    def do(self, script, **options):
        """The same for what has to work."""
        status = self.run(script, **options).returncode
        if status:
            raise roots.Unavailable("%s ended with %d; see %s" % (script, status, self.log_file.name))

    def take(self, name, root):
        """Makes an image of a root's files."""
        pack = subprocess.Popen(["tar", "-C", root, "--one-file-system", "-cf", "-"] +
                                ["--exclude=%s/*" % folder for folder in LEFT_OUT] + ["."], stdout=subprocess.PIPE)
        with pack:
            self.do("docker import --change 'ENV PATH=%s' - %s" % (machine.PATH, name), stdin=pack.stdout, stdout=self.log_file)

    def unpack(self, name, folder):
        """Puts the files of an image into a folder here, as a container would have them."""
        os.makedirs(folder)
        unpack = subprocess.Popen(["tar", "-C", folder, "-xf", "-"], stdin=subprocess.PIPE)
        with unpack:
            self.do("docker export $(docker create %s)" % name, stdout=unpack.stdin)
            unpack.stdin.close()

    def stop(self):
        self.holder.kill()  # and all in there with it
        self.holder.wait()
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.log_file.close()
