#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cross-compiles the Debian package for arm64 on a bare Debian 12, and runs the unit tests so.

    cross.py --build DIR    DIR/deb gets the package; the tests run under qemu-user

The system is a cached root (roots.py) below a layer in memory. It needs root; where that cannot be
had (or no namespace may be made) it is skipped, which is a failure in a CI. Ends with a line "N passed, N failed, N skipped".
"""

import argparse
import glob
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "setup"))
import clean_root  # noqa: E402
import roots  # noqa: E402

ARCH = "arm64"
TRIPLET = "aarch64-linux-gnu"
EMULATOR = "qemu-aarch64-static"
PACKAGES = ["make", "git", "ca-certificates", "python3", "build-essential", "pkg-config", "protobuf-c-compiler",
            "debhelper", "mandoc", "crossbuild-essential-" + ARCH, "qemu-user-static"]
PACKAGES += [name + ":" + ARCH for name in ("libcurl4-openssl-dev", "libprotobuf-c-dev", "libdeflate-dev", "zlib1g-dev",
                                            "libinih-dev", "libmicrohttpd-dev", "libncurses-dev", "libcmocka-dev")]

# These watch live processes of their own, which qemu-user runs as programs of this machine: what
# they find in memory, in core files and in /proc is the emulator.
NOT_EMULATED = ["test_command", "test_child_process", "test_otel_context", "test_ptrace_access", "test_hang",
                "test_hidden", "test_pause", "test_elf", "test_mem", "test_find", "test_proc_reader"]

# $1: the root, $2: an empty folder, $3: the packed tree, $4: the build folder, $5: the commands.
ENTER = r"""
set -eu
root=$1 folder=$2 tree=$3 build=$4
mount -t tmpfs -o size=4g tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
root=$folder/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/srv/pystrobe" "$root/srv/build"
tar -C "$root/srv/pystrobe" --strip-components=1 -xzf "$tree"
mount --bind "$build" "$root/srv/build"
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -euc "cd /srv/pystrobe; $5" </dev/null
"""

DEB = "make deb ARCH=%s BUILD=/srv/build/cross-deb" % ARCH
UNIT = ("make -j$(nproc) unit BUILD=/srv/build/cross CC=%s-gcc PKG_CONFIG=%s-pkg-config CC_FOR_BUILD=gcc RUN=%s "
        "TEST_PYTHON=python3 UNIT_SRC=\"$(find tests/unit -name 'test_*.c' | grep -vE '/(%s)\\.c$' | xargs)\"")


def say(text):
    print("cross: " + text, flush=True)


def enter(root, build, command):
    """Runs a command in there; gives its status and the last lines of what it printed."""
    folder = os.path.join(build, "cross-root")
    os.makedirs(folder, exist_ok=True)
    tree = glob.glob(os.path.join(build, "dist", "pystrobe-*.tar.gz"))[0]
    say("$ " + command)
    process = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", ENTER, "enter", root, folder, tree, build,
         command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = ""
    for line in process.stdout:
        text += line.decode(errors="replace")
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
    return process.wait(), text


def package_is_right(build):
    """The package is there, for that architecture, and the program in it is for that machine."""
    found = glob.glob(os.path.join(build, "cross-deb", "deb", "pystrobe_*_%s.deb" % ARCH))
    if not found:
        return False
    folder = os.path.join(build, "cross-deb", "unpacked")
    subprocess.run(["dpkg-deb", "-x", found[0], folder], check=True)
    head = subprocess.run(["readelf", "-h", os.path.join(folder, "usr", "bin", "pystrobe")], stdout=subprocess.PIPE,
                          check=True, env=dict(os.environ, LC_ALL="C")).stdout.decode()
    depends = subprocess.run(["dpkg-deb", "-f", found[0], "Depends"], stdout=subprocess.PIPE, check=True).stdout.decode()
    say("%s, %d bytes; %s" % (os.path.basename(found[0]), os.path.getsize(found[0]), depends.strip()))
    return "AArch64" in head and "libcurl4" in depends


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)

    if os.geteuid() != 0 or not clean_root.may_unshare():
        return clean_root.give_up("cross", 1)

    root = roots.ensure("bookworm", "cross-" + ARCH, PACKAGES, True, say)
    status, _ = enter(root, build, DEB)
    good = status == 0 and package_is_right(build)
    status, text = enter(root, build, UNIT % (TRIPLET, TRIPLET, EMULATOR, "|".join(NOT_EMULATED)))
    counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.MULTILINE) or [("0", "1", "0")]
    passed, failed, skipped = map(int, counts[-1])
    print("%d passed, %d failed, %d skipped" % (passed + good, failed + (not good), skipped))
    return 0 if good and status == 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
