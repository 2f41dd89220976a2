#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs README's commands for newcomers on a bare Debian 12 that has git and make, no more.

The commands are those of the section "Five tasks" that need no package and no container, and then those of the
blocks marked <!-- test: clean-root -->. The first task clones the repository: git on that system is told to take one that
has this tree as its only commit for the one that README names. A task is to print no warning and no error, and the files
that it writes are to be there.

The system is a copy of a cached debootstrap root, in a mount and process namespace of its own, so that nothing stays
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
README = os.path.join(TREE, "README.md")
REPOSITORY = "https://github.com/pystrobe/pystrobe"
ORIGIN = "/srv/origin"
INSIDE = "/srv/pystrobe"
EACH_TEST_ONCE = '-m "not long" --once'

# $1: the root, $2: this machine's cache folder, $3: the commands, $4: which live tests, $5: the folder that they run in.
# The folder with the newer Pythons is shared, as fetching them once more would show nothing. Whom this machine trusts, its
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
    bash -eu -c "cd $5; $3" </dev/null
"""


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


def copy_tree(folder):
    """Copies the tree into a folder that it makes."""
    names = b"\0".join(os.fsencode(name) for name in files_of_the_tree())
    os.makedirs(folder)
    pack = subprocess.Popen(
        ["tar", "-C", TREE, "--null", "-T", "-", "-cf", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    unpack = subprocess.Popen(["tar", "-C", folder, "--no-same-owner", "-xf", "-"], stdin=pack.stdout)
    pack.stdin.write(names)
    pack.stdin.close()
    if unpack.wait() or pack.wait():
        raise OSError("the tree could not be copied")


def serve_tree(root):
    """Has git in the root take this tree for what README clones."""
    copy_tree(root + ORIGIN)
    as_somebody = ["-c", "user.name=clean-root", "-c", "user.email=clean-root@localhost", "-c", "safe.directory=*"]
    for words in (["init", "-q"], ["add", "-A", "-f"], as_somebody + ["commit", "-q", "-m", "This tree"]):
        subprocess.run(["git"] + words, cwd=root + ORIGIN, stdin=subprocess.DEVNULL, check=True)
    with open(root + "/etc/gitconfig", "w", encoding="utf-8") as file:
        file.write('[url "%s"]\n\tinsteadOf = %s\n' % (ORIGIN, REPOSITORY))


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


def enter(root, folder, script, **options):
    """Runs a script in the root, in a namespace of its own."""
    return subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", ENTER, "enter", root,
                             roots.cache_folder(), script, EACH_TEST_ONCE, folder], **options)


def run_task(root, task):
    """Runs a task of README as it stands; gives whether all is as it should be."""
    folder = os.path.dirname(INSIDE) if task.how == "clone" else INSIDE
    text = ""
    say("README.md:%d: a task" % task.line)
    with enter(root, folder, task.script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
               errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            text += line
    wrong = ["status %d" % process.returncode] if process.returncode else []
    wrong += readme.complaints(text)
    wrong += [name + " is not there" for name in readme.missing_results(task.script, root + folder)]
    for one in wrong:
        print("failed: README.md:%d: %s" % (task.line, one))
    return not wrong


def run_command(root, command):
    """Gives whether it ended well."""
    say("$ " + command)
    status = enter(root, INSIDE, command).wait()
    if status != 0:
        say("'%s' ended with status %d" % (command, status))
    return status == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    tasks = [task for task in readme.tasks(README) if task.how in ("clone", "")]
    commands = readme.commands_for(README, "clean-root")
    count = len(tasks) + len(commands)

    if os.geteuid() != 0 or not may_unshare():
        return give_up("clean-root", count)

    root = os.path.join(os.path.abspath(args.build), "clean-root")
    log_path = root + ".log"
    os.makedirs(os.path.dirname(root), exist_ok=True)
    with open(log_path, "w", encoding="utf-8") as log_file:
        pristine = roots.ensure("bookworm", "bare", PACKAGES, True, say)
        roots.remove(root, log_file)
        roots.run(["cp", "-a", pristine, root], log_file)
        serve_tree(root)
        passed = sum([run_task(root, task) for task in tasks] + [run_command(root, command) for command in commands])
        roots.remove(root, log_file)
    print("%d passed, %d failed, 0 skipped" % (passed, count - passed))
    return 0 if passed == count and commands and tasks else 1


if __name__ == "__main__":
    sys.exit(main())
