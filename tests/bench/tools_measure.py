# SPDX-License-Identifier: Apache-2.0
"""Starts a program that counts its work, and measures what a profiler takes and takes from it."""

import contextlib
import json
import mmap
import os
import signal
import struct
import subprocess
import tempfile
import time

import tools_peers
from tools_peers import live

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "tools_target.py")
WORKLOADS = ["cpu", "mixed20", "sleeping", "pagefault", "parked100"]  # as it has them
SLOTS = 64

SETTLE_S = 1.0  # from the start of a tool to where the target's speed is looked at
MARGIN = 0.2  # ... of its run, before its end: py-spy ends up to 13 % too early
REST_S = 0.2  # after a tool has ended
CATCH_UP_S = 0.03  # from where a tool goes on to where the target's speed is looked at
FOREVER_S = 3600  # a run that is ended from outside


def about(python, options):
    """Under what conditions a benchmark ran, for its JSON."""
    return {"python": python["id"], "kernel": os.uname().release, "machine": os.uname().machine,
            "cpus": os.cpu_count(), "load": os.getloadavg()[0],
            "options": {key: value for key, value in sorted(vars(options).items()) if key not in ("build", "json")}}


def cores_words(cores):
    """The words that keep a command on some CPUs; none for all."""
    return ["taskset", "--cpu-list", cores] if cores else []


def process_cpu_s(pid):
    """CPU time of a process and its threads: its clock, by the number that the kernel gives it."""
    return time.clock_gettime((~pid << 3) | 2)


class Target:
    """A running tools_target.py. Work counts from 0 at its start, CPU time in seconds."""

    def __init__(self, python, workload, cores=None):
        inside = live.INSIDE if python["root"] else tempfile.gettempdir()
        handle, self._path = tempfile.mkstemp(prefix="counters-", dir=python["root"] + inside)
        with os.fdopen(handle, "r+b") as file:
            file.truncate(SLOTS * 8)
            self._counters = mmap.mmap(file.fileno(), SLOTS * 8)
        words = live.command_of(python, TARGET, workload, os.path.join(inside, os.path.basename(self._path)))
        self._target = live.Target(cores_words(cores) + words)
        self.pid = self._target.read_json()["pid"]

    def look(self):
        """(when, work done, CPU time) now."""
        work = sum(struct.unpack("%dQ" % SLOTS, self._counters[:]))
        return time.monotonic(), work, process_cpu_s(self.pid)

    def end(self):
        self._target.process.kill()
        self._target.process.wait()
        self._target.process.stdout.close()
        os.unlink(self._path)


@contextlib.contextmanager
def running(python, workload, cores=None):
    target = Target(python, workload, cores)
    try:
        time.sleep(1.0)  # until imports and first calls are behind it
        yield target
    finally:
        target.end()


def speed_between(before, after):
    """Work a second, and CPU time for each piece of it."""
    work = after[1] - before[1]
    if work <= 0:
        raise RuntimeError("the target does not work")
    return {"per_second": work / (after[0] - before[0]), "cpu_per_work": (after[2] - before[2]) / work}


def window_of(seconds):
    """How long the target is looked at while a tool runs for that many seconds."""
    return seconds * (1 - MARGIN) - SETTLE_S


def watch(target, seconds):
    """The target's speed over a time in which nothing else is done to it."""
    before = target.look()
    time.sleep(seconds)
    return speed_between(before, target.look())


def words_of(pid):
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        return [word.decode(errors="replace") for word in file.read().split(b"\0")]


def process_of(program, pid):
    """Where a program runs: in the process of its launcher, or below it. It may have children of its own."""
    while words_of(pid)[0] != program:
        children = live.children_of(pid)
        if not children:
            raise RuntimeError("%s does not run below process %d" % (program, pid))
        pid = children[0]
    return pid


class Held:
    """A tool that runs in its turns only: between them it stands still, by SIGSTOP.

    That way a turn may be short: the machine's own ups and downs are the same before, in and after
    it. For tools that go on with the next tick then, and do not catch up on those they missed."""

    def __init__(self, bench, tool, pid, rate):
        self.rate, self._bench, self._tool, self._turns_s = rate, bench, tool, 0.0
        self._process, self._report = bench.start(tool, pid, rate, FOREVER_S)
        time.sleep(SETTLE_S)
        if self._process.poll() is not None:
            raise RuntimeError("%s does not run: %s" % (tool["name"], self._process.communicate()[0]))
        self.pid = process_of(tool["words"](pid, rate, 0, "")[0], self._process.pid)
        self._send(signal.SIGSTOP)

    def _send(self, number):
        subprocess.run(self._bench.root_words + ["kill", "-%d" % number, str(self.pid)], check=True)

    def turn(self, target, seconds):
        """The target's speed while it runs for that long."""
        self._send(signal.SIGCONT)
        time.sleep(CATCH_UP_S)
        speed = watch(target, seconds)
        self._send(signal.SIGSTOP)
        self._turns_s += seconds
        return speed

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._send(signal.SIGCONT)
        self._send(signal.SIGINT)
        if failure[0] is None:
            self._end()

    def _end(self):
        """Waits for its end. That it slept in its turns is an error."""
        took = self._bench.finish(self._tool, self._process, self._report)
        if took["taken"] < self.rate * self._turns_s / 2:
            raise RuntimeError("%s took %d samples in %.1f s of %d Hz" % (
                self._tool["name"], took["taken"], self._turns_s, self.rate))


class Bench:
    """Where things are, and how tools are kept on CPUs."""

    def __init__(self, build, cores=None):
        self.launcher = os.path.join(build, "tests", "tools", "run_measured")
        self.folder = os.path.join(build, "tests", "bench")
        self.cores = cores
        self.root_words = live.root_words()
        os.makedirs(self.folder, exist_ok=True)

    def start(self, tool, pid, rate, seconds):
        """Starts a tool; gives (process, where its report will be)."""
        report = os.path.join(self.folder, "took.json")
        out = os.path.join(self.folder, "out." + tool["name"])
        words = [str(word) for word in tool["words"](pid, rate, seconds, out)]
        process = subprocess.Popen(
            self.root_words + [self.launcher, report] + cores_words(self.cores) + words, env=tool["env"], cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        return process, report

    def finish(self, tool, process, report):
        """What the tool took, and what it says of its samples."""
        text = process.communicate(timeout=120)[0].decode(errors="replace")
        if process.returncode != 0:
            raise RuntimeError("%s ended with %d: %s" % (tool["name"], process.returncode, text))
        with open(report, encoding="utf-8") as file:
            took = json.load(file)
        try:
            took.update(tool["read"](text))
        except tools_peers.Unreadable as reason:
            raise RuntimeError("%s says what nobody understands: %s" % (tool["name"], reason))
        return took

    def run(self, tool, pid, rate, seconds):
        """Lets a tool run for that long."""
        process, report = self.start(tool, pid, rate, seconds)
        took = self.finish(tool, process, report)
        time.sleep(REST_S)
        return took

    def run_watched(self, tool, target, rate, seconds):
        """The same, and the target's speed meanwhile: (what it took, speed)."""
        process, report = self.start(tool, target.pid, rate, seconds)
        try:
            time.sleep(SETTLE_S)
            speed = watch(target, window_of(seconds))
            if process.poll() is not None:
                raise RuntimeError("%s was over before its time: %s" % (tool["name"], process.communicate()[0]))
            took = self.finish(tool, process, report)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        time.sleep(REST_S)
        return took, speed
