# SPDX-License-Identifier: Apache-2.0
"""The profilers that are compared: how each is called, and what each says of its samples.

A tool is a dictionary: `name`; `words(pid, rate, seconds, out)`, its command line; `read(text)`,
which gives {"taken", "lost_percent"} from what it printed; `env`. Each attaches to a process,
reads the stacks of all threads and writes them to a file. Those with `held` end by SIGINT, and go on
with the next tick after they stood still.
"""

import json
import os
import re
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "integration"), os.path.join(TESTS, "setup")]
import live  # noqa: E402
import pyspy  # noqa: E402

WORD = "reading a word"  # no profiler: it wakes up on the target's CPU and reads as little as can be
NAMES = ["pystrobe", "py-spy", "py-spy-nonblocking", "profiling.sampling"]
# The same with the stacks of threads that sleep, which py-spy leaves out unless told to.
MORE_NAMES = ["py-spy-idle", "py-spy-nonblocking-idle", "profiling.sampling-blocking"]


class Unreadable(Exception):
    """What a tool printed is not what this version of it is known to print."""


def number_in(pattern, text, default=None):
    match = re.search(pattern, text)
    if match:
        return float(match.group(1).replace(",", ""))
    if default is None:
        raise Unreadable("there is no %r in: %s" % (pattern, text))
    return default


def read_pystrobe(text):
    """Lost: ticks whose turn was over, samples of the process and stacks that were given up."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise Unreadable(text)
    stats = json.loads(lines[-1])
    counters = stats["unwinder"]
    failed = sum(count for reason, count in stats["failed"].items() if reason != "gone")
    # A tick that was missed, or a sample that failed, lost all stacks of its moment.
    ticks = stats["samples"] + stats["missed"]
    stacks = counters["threads"] + counters["torn"]
    kept = (stats["samples"] - failed) / max(ticks, 1) * counters["threads"] / max(stacks, 1)
    return {"taken": stats["samples"] - failed, "lost_percent": 100 * (1 - kept), "stats": stats}


def read_pyspy(text):
    """Its samples are stacks, its errors are moments of the whole process."""
    moments = number_in(r"process (\d+) times a second", text) * number_in(r"for (\d+) seconds", text)
    errors = number_in(r"Errors: (\d+)", text)
    return {"taken": int(number_in(r"Samples: (\d+)", text)), "lost_percent": 100 * errors / max(moments, 1)}


def read_sampling(text):
    """Its error rate is of the samples that it captured; what it was too late for is beside it."""
    captured = number_in(r"Captured ([\d,]+) samples", text)
    errors = number_in(r"Error rate: ([\d.]+)", text, 0.0)
    missed = number_in(r"missed ([\d,]+) samples", text, 0.0)
    kept = captured * (1 - errors / 100)
    return {"taken": round(kept), "lost_percent": 100 * (1 - kept / max(captured + missed, 1))}


def read_word(text):
    return {"taken": round(number_in(r"(\d+) words", text)), "lost_percent": 0.0}


def word_tool(program):
    def words(pid, rate, seconds, out):
        return [program, pid, rate, seconds]

    return {"name": WORD, "words": words, "read": read_word, "env": live.clean_environment(), "held": True}


def pystrobe_tool(program):
    def words(pid, rate, seconds, out):
        return [program, "record", "--stats=json", "-p", pid, "-r", rate, "-d", seconds, "-f", "pprof", "-o", out]

    return {"name": "pystrobe", "words": words, "read": read_pystrobe, "env": live.clean_environment(), "held": True}


def pyspy_tool(name, program):
    flags = [flag for flag, part in (("--nonblocking", "nonblocking"), ("--idle", "idle")) if part in name]

    def words(pid, rate, seconds, out):
        return [program, "record", "-p", pid, "-r", rate, "-d", seconds, "-f", "raw", "-o", out] + flags

    return {"name": name, "words": words, "read": read_pyspy, "env": live.clean_environment()}


def sampling_tool(name, python):
    start, env = live.outside_command(python)
    flags = ["--blocking"] if "blocking" in name else []

    def words(pid, rate, seconds, out):
        return start + ["-m", "profiling.sampling", "attach", "-a", "-r", rate, "-d", seconds, "--binary", "-o", out,
                        *flags, pid]

    return {"name": name, "words": words, "read": read_sampling, "env": env}


def find_python(version):
    """The interpreter that runs the targets: the first that fits and is no debug build."""
    for python in live.load_pythons()[0]:
        fits = python["version"].startswith(version + ".") or python["id"] == version
        if fits and not python["debug"] and not python["free_threaded"]:
            return python
    raise SystemExit("bench: no CPython %s was found; see make pythons" % version)


def make(name, python, program, log):
    """The tool of that name for targets that `python` runs, or None where it cannot read them."""
    if name == "pystrobe":
        return pystrobe_tool(program)
    if name == WORD:
        return word_tool(os.path.join(os.path.dirname(program), "tests", "tools", "read_word"))
    if name.startswith("py-spy"):
        return pyspy_tool(name, pyspy.ensure(log))
    if tuple(int(part) for part in python["version"].split(".")[:2]) < (3, 15):
        log("%s reads its own version only, 3.15 or later: left out for Python %s" % (name, python["version"]))
        return None
    return sampling_tool(name, python)
