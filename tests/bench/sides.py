# SPDX-License-Identifier: Apache-2.0
"""Starts the three programs of a measurement: the target, CPython's own reader and ours.

Each of the readers takes a command a line and answers with a line of JSON.
"""

import contextlib
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration"))
import live  # noqa: E402
import roots  # noqa: E402

PEER_FROM = (3, 15)  # from then on it has the cache of frames that its users have
ANSWER_S = 120


def version_of(python):
    return tuple(int(part) for part in python["version"].split(".")[:2])


def choose_python(entries, wanted=None):
    """The newest release build, or that of a version "3.14"; None where there is none."""
    fit = [entry for entry in entries if not entry["debug"] and not entry["free_threaded"]
           and (wanted is None or "%d.%d" % version_of(entry) == wanted)]
    return max(fit, key=lambda entry: [int(part) for part in entry["version"].split(".")], default=None)


def cpus_for(who, placement, allowed):
    """The CPUs that the target or a reader may use; None: all."""
    allowed = sorted(allowed)
    if placement == "any" or len(allowed) < 2:
        return None
    if placement == "same":
        return allowed[:1]
    return allowed[-1:] if who == "reader" else allowed[:-1]


def on_cpus(who, placement):
    cpus = cpus_for(who, placement, os.sched_getaffinity(0))
    return ["taskset", "-c", ",".join(map(str, cpus))] if cpus else []


def is_able(python, workload, operation):
    """Whether that Python has what the workload needs, and what is asked about it."""
    version = version_of(python)
    if operation != "stack" and version < (3, 14):
        return False
    if workload.startswith(("async", "tasks=")):
        return version >= (3, 7)
    return not workload.startswith("subinterp") or version >= (3, 8)


def has_peer(python):
    return version_of(python) >= PEER_FROM


def target_words(python, workload, placement="any"):
    script = os.path.join(HERE, "targets", "workload.py")
    return on_cpus("target", placement) + live.command_of(python, script, workload)


def peer_words(python, pid, operation, mode):
    """(words, environment); raises roots.Unavailable where that Python cannot be used from here."""
    words, env = live.outside_command(python)
    return words + [os.path.join(HERE, "peer.py"), str(pid), operation, mode], env


def our_words(build, pid, operation, mode):
    program = os.path.join(os.path.abspath(build), "tests", "bench", "bench_unwind")
    return live.root_words() + [program, str(pid), operation, mode], live.clean_environment()


def ask(side, command, number):
    """Gives the answer to a command."""
    side.process.stdin.write(b"%s %d\n" % (command.encode(), number))
    side.process.stdin.flush()
    return side.read_json(ANSWER_S)


@contextlib.contextmanager
def running(words, env=None):
    """A program that has said that it is ready, and what it said."""
    program = live.Target(words, env)
    try:
        yield program, program.read_json(ANSWER_S)
    finally:
        program.stop()


@contextlib.contextmanager
def reader(words_and_env, placement="any"):
    words, env = words_and_env
    with running(on_cpus("reader", placement) + words, env) as (program, _):
        yield program


def can_strace():
    return shutil.which("strace") is not None


def trace(words_and_env, calls, warm=10):
    """What strace writes of a reader that makes `warm` calls and then `calls` between two markers."""
    words, env = words_and_env
    as_root = live.root_words()
    if words[:len(as_root)] != as_root:
        as_root = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        strace = ["strace", "-s", "0", "-o", path]
        with running(as_root + strace + words[len(as_root):], env) as (program, _):
            ask(program, "count", warm)
            ask(program, "count", calls)
            program.end()
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
