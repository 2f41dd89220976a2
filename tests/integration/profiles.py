# SPDX-License-Identifier: Apache-2.0
"""Reads profiles with google/pprof's own parser, and what the kernel says of processes."""

import contextlib
import functools
import glob
import json
import os
import re
import subprocess
import time

import live

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))


@functools.lru_cache(maxsize=None)
def checker():
    """Builds tests/pprofcheck once; gives its path."""
    path, folder = os.path.join(BUILD, "tests", "pprofcheck"), os.path.join(live.TESTS, "pprofcheck")
    with live.to_be_made(path, glob.glob(os.path.join(folder, "*"))) as wanted:
        if wanted:
            subprocess.run(["go", "build", "-o", path, "."], cwd=folder, check=True, timeout=300,
                           env=dict(os.environ, GOFLAGS="-mod=mod -trimpath", GOTOOLCHAIN="local"))
    return path


def read(*paths):
    """Each file as pprofcheck sees it; a bad one fails the test."""
    done = subprocess.run([checker(), *[str(path) for path in paths]], capture_output=True, text=True,
                          timeout=live.DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def paths_in_store(store, service):
    """The files of a service in a store, oldest first."""
    return sorted(glob.glob(os.path.join(str(store), service, "*.pb.gz")))


def in_store(store, service):
    return read(*paths_in_store(store, service))


def column(profile, name):
    return [value_type["type"] for value_type in profile["sample_types"]].index(name)


def total(profiles, name, keep=lambda sample: True):
    """The sum of a value over the samples that `keep` takes."""
    return sum(sample["values"][column(profile, name)]
               for profile in profiles for sample in profile["samples"] if keep(sample))


def cpu_ns(pid):
    """The kernel's number for all threads of a process."""
    spent = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path, encoding="ascii") as file:
            spent += int(file.read().split()[0])
    return spent


# What a profile must add up to, however late anybody is: it lies between two bounds.


def look(pid):
    """(now, the CPU time of the process by now)"""
    return time.monotonic_ns(), cpu_ns(pid)


def family(pid):
    """A process and all below it."""
    found = [pid]
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            for child in file.read().split():
                found += family(int(child))
    return found


def ended_cpu_s(pid):
    """The CPU time of the children of a process that have ended."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        return sum(int(word) for word in file.read().rpartition(")")[2].split()[13:15]) / os.sysconf("SC_CLK_TCK")


def running_cpu_s(pid):
    """The CPU time of a process and of all below it that run."""
    used = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            used += time.clock_gettime(~one << 3 | 2)
    return used


def cpu_s_of(pid):
    """The same with that of its children that have ended."""
    return running_cpu_s(pid) + ended_cpu_s(pid)


def opened_by(watcher):
    """What a pystrobe keeps open of processes: {(pid, "")} from its first look on, {(pid, "/task/")} from
    its first sample on.
    """
    found = set()
    for pid in family(watcher):
        for path in glob.glob("/proc/%d/fd/*" % pid):
            with contextlib.suppress(OSError):
                match = re.match(r"/proc/(\d+)(/task/)?", os.readlink(path))
                found |= {(int(match.group(1)), match.group(2) or "")} if match else set()
    return found


class Bounds:
    """Brackets what a pystrobe counts of some processes: from before it knows them to after its last sample.

    Make it before the start; then begin(), at_end() before it is told to end, after_end() right after that.
    """

    def __init__(self, pids):
        self._unknown = {pid: look(pid) for pid in pids}
        self._sampled, self._last, self._after = {}, {}, {}

    def begin(self, watcher):
        """Waits until each is sampled."""
        def all_are_sampled():
            looks = {pid: look(pid) for pid in self._unknown}
            opened = opened_by(watcher)
            for pid in set(looks) - set(self._sampled):
                if (pid, "/task/") in opened:
                    self._sampled[pid] = look(pid)
                elif (pid, "") not in opened:
                    self._unknown[pid] = looks[pid]
            return len(self._sampled) == len(self._unknown)

        live.wait_until(all_are_sampled, "all processes are sampled", 0.001)

    def at_end(self):
        self._last = {pid: look(pid) for pid in self._sampled}

    def last_wall(self, pid):
        """The least time that it was sampled, if it has ended since."""
        return self._last[pid][0] - self._sampled[pid][0]

    def after_end(self, watcher):
        """Waits until none is sampled any more."""
        def none_is_sampled():
            return not {(pid, "/task/") for pid in self._sampled} & opened_by(watcher)

        live.wait_until(none_is_sampled, "no process is sampled", 0.001)
        self._after = {pid: look(pid) for pid in self._sampled}

    def _of(self, pid, which):
        return (self._last[pid][which] - self._sampled[pid][which],
                self._after[pid][which] - self._unknown[pid][which])

    def wall(self, pid):
        """The least and the most time that it was sampled."""
        return self._of(pid, 0)

    def cpu(self, pid):
        """The least and the most CPU time that it used meanwhile."""
        return self._of(pid, 1)


def is_within(value, bounds, rel):
    return bounds[0] * (1 - rel) <= value <= bounds[1] * (1 + rel)
