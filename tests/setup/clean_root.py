#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs README's commands for newcomers on a bare Debian 12 that has git and make, no more.

The commands are those of README's blocks marked <!-- test: clean-root -->. The system is a copy
of a cached debootstrap root, in a mount and process namespace of its own, so that nothing stays
behind. Needs root; where that cannot be had (or no namespace may be made) it is skipped, which is a
failure in a CI.

What is shown is that the commands work and need nothing but what they install themselves. So all
is built, all unit tests run, and each live test once, with the first Python or whatever else it has
to choose from: whichever program or module a test needs, one of its cases misses it.
"""

import argparse
import os
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "tests", "setup"))
import readme  # noqa: E402
import roots  # noqa: E402

PACKAGES = ["git", "make", "ca-certificates"]
INSIDE = "/srv/pystrobe"
EACH_TEST_ONCE = '-m "not long" --once'

# $1: the root, $2: this machine's cache folder, $3: the commands, $4: which live tests. The folder with the newer
# Pythons is shared, as fetching them once more would show nothing. Whom this machine trusts, its
# proxies and the like, is trusted there too, or nothing could be fetched behind some of them: by the
# bundle, and as local certificates, of which Java makes a store of its own.
ENTER = r"""
set -eu
root=$1 cache=$2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/var/cache/tests/pystrobe-tests" "$cache"
mount --bind "$cache" "$root/var/cache/tests/pystrobe-tests"
certificates=
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    certificates=/etc/ssl/outside.crt
    cp /etc/ssl/certs/ca-certificates.crt "$root$certificates"
fi
if [ -d /usr/local/share/ca-certificates ]; then
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$root/usr/local/share/ca-certificates/" ';'
    chroot "$root" update-ca-certificates >/dev/null 2>&1
fi
exec chroot "$root" /usr/bin/env -i HOME=/root XDG_CACHE_HOME=/var/cache/tests PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CI="${CI:-}" PYTEST_ARGS="$4" http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
    ${WORKERS:+WORKERS=$WORKERS} ${certificates:+SSL_CERT_FILE=$certificates} \
    bash -eu -c "cd %s && $3" </dev/null
""" % INSIDE


def say(text):
    print("clean-root: " + text, flush=True)


def files_of_the_tree():
    """All that git would take: a work tree that is not committed yet is tested as it is."""
    out = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=TREE, stdout=subprocess.PIPE, check=True,
    ).stdout
    names = [os.fsdecode(name) for name in out.split(b"\0") if name]
    return [name for name in names if os.path.lexists(os.path.join(TREE, name))]


def copy_tree(root):
    names = b"\0".join(os.fsencode(name) for name in files_of_the_tree())
    os.makedirs(root + INSIDE)
    pack = subprocess.Popen(
        ["tar", "-C", TREE, "--null", "-T", "-", "-cf", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    unpack = subprocess.Popen(["tar", "-C", root + INSIDE, "--no-same-owner", "-xf", "-"], stdin=pack.stdout)
    pack.stdin.write(names)
    pack.stdin.close()
    if unpack.wait() or pack.wait():
        raise OSError("the tree could not be copied")


def may_unshare():
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        stderr=subprocess.DEVNULL, check=False,
    ).returncode == 0


def give_up(what, count):
    """Says why nothing was run; gives the exit status. A CI has what is needed."""
    failed = count if os.environ.get("CI") == "true" else 0
    print("%s: needs root and the right to make a mount namespace" % what)
    print("0 passed, %d failed, %d skipped" % (failed, count - failed))
    return 1 if failed else 0


def run_commands(root, commands):
    """Each command in a namespace of its own; gives how many failed."""
    failed = 0
    for command in commands:
        say("$ " + command)
        status = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", ENTER, "enter",
             root, roots.cache_folder(), command, EACH_TEST_ONCE], check=False,
        ).returncode
        if status != 0:
            say("'%s' ended with status %d" % (command, status))
            failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    commands = readme.commands_for(os.path.join(TREE, "README.md"), "clean-root")

    if os.geteuid() != 0 or not may_unshare():
        return give_up("clean-root", len(commands))

    root = os.path.join(os.path.abspath(args.build), "clean-root")
    log_path = root + ".log"
    os.makedirs(os.path.dirname(root), exist_ok=True)
    with open(log_path, "w", encoding="utf-8") as log_file:
        pristine = roots.ensure("bookworm", "bare", PACKAGES, True, say)
        roots.remove(root, log_file)
        roots.run(["cp", "-a", pristine, root], log_file)
        copy_tree(root)
        failed = run_commands(root, commands)
        roots.remove(root, log_file)
    print("%d passed, %d failed, 0 skipped" % (len(commands) - failed, failed))
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
