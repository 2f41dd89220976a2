# SPDX-License-Identifier: Apache-2.0
"""Starts a truth program under a Python, lets samplers look at it, and reads its board."""

import array
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import live  # noqa: E402

FREE = ("free", "moved")  # placements in which nobody is held on a CPU
# Moves a process each 1 to 4 ms until its standard input ends.
MOVER = """
import os, random, select, sys
cpus = sorted(os.sched_getaffinity(0))
while not select.select([0], [], [], random.uniform(0.001, 0.004))[0]:
    os.sched_setaffinity(int(sys.argv[1]), [random.choice(cpus)])
"""

REFUSED = 3  # by truth_sampler: --onsite is not possible here

BOARD_BYTES = 4096
BOARD_ROW, BOARD_WORDS = 48, 3  # as in targets/board.py


def cpus():
    return sorted(os.sched_getaffinity(0))


def taskset(cpu):
    return [] if cpu is None else ["taskset", "-c", str(cpu)]


class Folder:
    """Where a Python finds the programs: below the build, and in its root where it has one."""

    def __init__(self, python, build):
        self.python = python
        self.inner = os.path.join(live.INSIDE, "truth-%d" % os.getpid()) if python["root"] else \
            os.path.join(build, "truth", "programs")
        self.outer = python["root"] + self.inner
        self._run("mkdir", "-p", self.outer)

    def _run(self, *words):
        subprocess.run((live.root_words() if self.python["root"] else []) + list(words), check=True)

    def put(self, name, data):
        """Writes a file that anybody may write; gives its path inside."""
        path = os.path.join(self.outer, name)
        words = live.root_words() if self.python["root"] else []
        subprocess.run(words + ["tee", path], input=data, stdout=subprocess.DEVNULL, check=True)
        self._run("chmod", "666", path)
        return os.path.join(self.inner, name)

    def remove(self):
        if self.python["root"]:
            self._run("rm", "-rf", "--one-file-system", self.outer)


def is_possible(placement, build):
    if placement == "onsite" and not can_onsite(build):
        return False
    return len(cpus()) > 1 or placement in ("same", "free")


@functools.cache
def can_onsite(build):
    """Whether the kernel reads for us; if it does, what is wrong is that pid 1 is no Python."""
    words = [os.path.join(build, "tests", "tools", "truth_sampler"), "--pid", "1", "--onsite", "1"]
    return subprocess.run(live.root_words() + words, stderr=subprocess.DEVNULL, check=False).returncode != REFUSED


@contextlib.contextmanager
def moved(pid):
    """The process's main thread goes from CPU to CPU all the time."""
    with subprocess.Popen(live.root_words() + [sys.executable, "-c", MOVER, str(pid)], stdin=subprocess.PIPE) as mover:
        yield
    if mover.returncode != 0:
        raise RuntimeError("process %d could not be moved" % pid)


class Program:
    """A truth program that runs; `held` on the first CPU or anywhere."""

    def __init__(self, folder, script, texts, args, held):
        self.folder = folder
        self.texts = {folder.put(name, text.encode()): text for name, text in texts.items()}
        board = folder.put("board", bytes(BOARD_BYTES))
        self._board = os.path.join(folder.outer, "board")
        python = folder.python
        words = [python["inner"], os.path.join(folder.inner, script), board] + [str(a) for a in args]
        if python["root"]:
            words = live.root_words() + ["chroot", python["root"]] + words
        self._target = live.Target(taskset(cpus()[0] if held else None) + words)
        self.about = self._target.read_json()
        self.pid = self.about["pid"]

    def board(self):
        with open(self._board, "rb") as file:
            return array.array("q", file.read())

    def stop(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(live.root_words() + ["kill", "-%d" % signal.SIGKILL, str(self.pid)], check=True)
        self._target.stop()


def sampler_cpu(placement):
    """The CPU where a sampler begins, or None."""
    if placement in FREE:
        return None
    return cpus()[0] if placement == "same" else cpus()[1]


def sample(program, placement, build, rate, seconds, seed):
    """Samples with our unwinder; gives what truth_sampler printed."""
    words = [os.path.join(build, "tests", "tools", "truth_sampler"), "--pid", program.pid, "--rate", rate,
             "--seconds", seconds, "--seed", seed]
    cpu = sampler_cpu(placement)
    if cpu is not None:
        words += ["--cpu" if placement in ("apart", "onsite") else "--pin", cpu]
    if placement == "onsite":
        words += ["--onsite", 1, "--ask-cpu", 1]
    if placement == "plain":
        words += ["--plain", 1]
    if placement == "moved":
        words += ["--ask-cpu", 1]  # as the agent does: so it knows where the target is
    with moved(program.pid) if placement == "moved" else contextlib.nullcontext():
        return run_json(live.root_words() + words, seconds)


def run_json(words, seconds, env=None):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=seconds + 120, check=False, env=env)
    if done.returncode != 0:
        raise RuntimeError("%s ended with %d: %s" % (words[0], done.returncode, done.stderr.decode()))
    return json.loads(done.stdout.decode("utf-8", "replace"))


def sample_by_peer(program, placement, rate, seconds, blocking=False):
    """Samples with CPython's own profiler, which can be only for its own version."""
    words, env = live.outside_command(program.folder.python)
    words = taskset(sampler_cpu(placement)) + words + [os.path.join(HERE, "peer.py")]
    return run_json(words + [program.pid, rate, seconds] + ["blocking"] * blocking, seconds, env)


def record(program, build, rate, seconds, share_of):
    """CPU time and samples by share that the whole tool gives: {share: (ns, samples)}.

    `share_of` has the shares of functions by name.
    """
    import profiles  # it looks for the build when it is imported

    output = os.path.join(build, "truth", "record.pb.gz")
    words = live.root_words() + [os.path.join(build, "pystrobe"), "record", "--pid", program.pid, "-r", rate,
                                 "-d", "%gs" % seconds, "-o", output]
    subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=seconds + 60, check=True)
    recorded = profiles.read(output)

    def is_in(share):
        return lambda sample: any(share_of.get(frame["func"]) == share for frame in sample["stack"])

    return {share: (profiles.total(recorded, "cpu", is_in(share)), profiles.total(recorded, "samples", is_in(share)))
            for share in set(share_of.values())}
