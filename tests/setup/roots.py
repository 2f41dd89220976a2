# SPDX-License-Identifier: Apache-2.0
"""Keeps small Debian systems in a cache folder, made by debootstrap.

A root is built beside its place and renamed when all is in it, so that a root that exists
is whole; its stamp says how it was made. One lock keeps two runs apart.
"""

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess

FORMAT = 2  # part of the stamp: a root of another format is made anew
STAMP = "pystrobe-root.json"
TIMEOUT_S = 1500


class Unavailable(Exception):
    """Says why there is no such root."""


def as_root():
    """The words that run a command as root; raises where there is no way."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(
        ["sudo", "-n", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode == 0:
        return ["sudo", "-n"]
    raise Unavailable("needs root (or sudo without a password)")


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "pystrobe-tests")


def output_of(argv):
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        ).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return ""


def mirror():
    """The mirror that this machine's apt uses for Debian."""
    for line in output_of(["apt-get", "indextargets", "--format", "$(REPO_URI)"]).splitlines():
        if re.match(r"https?://.*/debian/?$", line):
            return line.rstrip("/")
    raise Unavailable("apt knows no Debian mirror on this machine")


def apt_settings():
    """This machine's ways of getting at a mirror, as lines of an apt.conf."""
    keep = re.compile(r"^Acquire::(https?::|Check-Valid-Until|Retries|ForceIPv)")
    return [line for line in output_of(["apt-config", "dump"]).splitlines() if keep.match(line)]


def environment():
    """debootstrap fetches by wget, which knows no apt.conf but these variables."""
    env = dict(os.environ, LC_ALL="C.UTF-8", DEBIAN_FRONTEND="noninteractive")
    for line in apt_settings():
        match = re.match(r'^Acquire::(https?)::Proxy "(.+)";$', line)
        if match:
            env.setdefault(match.group(1) + "_proxy", match.group(2))
    return env


def run(argv, log_file):
    words = as_root()
    if words:
        words = words + ["env"] + [
            "%s=%s" % (name, value) for name, value in environment().items()
            if name in ("LC_ALL", "DEBIAN_FRONTEND", "http_proxy", "https_proxy", "no_proxy")
        ]
    try:
        subprocess.run(
            words + argv, env=environment(), stdin=subprocess.DEVNULL, stdout=log_file,
            stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=True,
        )
    except FileNotFoundError as error:
        raise Unavailable("%s is not installed" % error.filename)
    except subprocess.TimeoutExpired:
        raise Unavailable("%s took over %d s; see %s" % (argv[0], TIMEOUT_S, log_file.name))
    except subprocess.CalledProcessError as error:
        raise Unavailable("%s failed (%d); see %s" % (" ".join(argv[:4]), error.returncode, log_file.name))


def mounts_below(path):
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
        points = [line.split(" ")[1] for line in file]
    return [p for p in points if p == path or p.startswith(path + "/")]


def remove(path, log_file):
    """Removes a root; what an interrupted debootstrap left mounted in it comes off first."""
    for point in reversed(mounts_below(path)):
        run(["umount", point], log_file)
    if os.path.lexists(path):
        run(["rm", "-rf", "--one-file-system", path], log_file)


def write_inside(root, name, text, log_file):
    """Writes a file that may belong to root."""
    local = log_file.name + ".tmp"
    with open(local, "w", encoding="utf-8") as file:
        file.write(text)
    run(["install", "-D", "-m", "644", local, root + name], log_file)
    os.unlink(local)


def known_in(root, wanted):
    """Those of the wanted packages that the root's suite has."""
    known = set(output_of(as_root() + ["chroot", root, "apt-cache", "pkgnames"]).split())
    return [name for name in wanted if name.split(":")[0] in known]


def foreign(wanted):
    """The architectures of packages that are wanted as NAME:ARCHITECTURE."""
    return sorted({name.split(":")[1] for name in wanted if ":" in name})


def build(suite, wanted, root, log_file):
    remove(root, log_file)
    run(["debootstrap", "--variant=minbase", suite, root, mirror()], log_file)
    write_inside(root, "/etc/apt/apt.conf.d/90host", "\n".join(apt_settings()) + "\n", log_file)
    for architecture in foreign(wanted):
        run(["chroot", root, "dpkg", "--add-architecture", architecture], log_file)
    run(["chroot", root, "apt-get", "-q", "update"], log_file)
    packages = known_in(root, wanted)
    if packages:
        run(["chroot", root, "apt-get", "-q", "-y", "--no-install-recommends", "install"] + packages, log_file)
        run(["chroot", root, "apt-get", "clean"], log_file)
    run(["install", "-d", "-m", "1777", root + "/srv/pystrobe-tests"], log_file)
    stamp = {"format": FORMAT, "suite": suite, "wanted": wanted, "packages": packages}
    write_inside(root, "/" + STAMP, json.dumps(stamp) + "\n", log_file)


def is_whole(root, wanted):
    try:
        with open(os.path.join(root, STAMP), encoding="utf-8") as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return False
    return stamp["format"] == FORMAT and set(wanted) <= set(stamp["wanted"])


@contextlib.contextmanager
def locked(folder, log):
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log("another run is at work in %s: waiting" % folder)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def kept(name, pattern, make, log):
    """The file that matches in a folder of the cache; made aside, so that one that exists is whole."""
    folder = os.path.join(cache_folder(), name)
    if not os.path.isdir(folder):
        os.makedirs(cache_folder(), exist_ok=True)
        with locked(cache_folder(), log):
            if not os.path.isdir(folder):
                log("making %s (once)" % folder)
                os.makedirs(folder + ".partial", exist_ok=True)
                make(folder + ".partial", log)
                os.rename(folder + ".partial", folder)
    return glob.glob(os.path.join(folder, pattern))[0]


def ensure(suite, kind, wanted, install, log):
    """The folder of the root of `suite` that holds those of the wanted packages that it has."""
    folder = cache_folder()
    root = os.path.join(folder, "%s-%s-%s" % (suite, kind, os.uname().machine))
    as_root()  # a root is of no use to one who may not enter it
    if is_whole(root, wanted):
        return root
    if not install:
        raise Unavailable("not in the cache, and installing was not asked for")
    os.makedirs(folder, exist_ok=True)
    with locked(folder, log):
        if is_whole(root, wanted):
            return root
        log("putting Debian %s (%s) into %s (a minute or two, once)" % (suite, kind, root))
        with open(root + ".log", "w", encoding="utf-8") as log_file:
            try:
                build(suite, wanted, root + ".partial", log_file)
            except Unavailable as error:  # most often an archive that was away for a moment
                log("%s; trying once more" % error)
                build(suite, wanted, root + ".partial", log_file)
            remove(root, log_file)
            run(["mv", root + ".partial", root], log_file)
    return root
