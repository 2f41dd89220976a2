#!/usr/bin/python3 -ISu
# SPDX-License-Identifier: Apache-2.0
"""The first process of a machine whose kernel has Yama: tries at each level what can be read.

Writes a JSON object a line to the console, each with "level", "case" and what was seen; the last
one has "case" alone. What it should be, test_yama.py knows.
"""

import contextlib
import json
import os
import signal
import subprocess
import time

from machine import DEADLINE_S, PYSTROBE, PYTHON, mount, run, tell

SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
AS_OWNER = ["/usr/bin/setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
AS_OTHER = ["/usr/bin/setpriv", "--reuid", "2000", "--regid", "2000", "--clear-groups"]
CAPABLE = AS_OTHER + ["--inh-caps", "+sys_ptrace", "--ambient-caps", "+sys_ptrace"]
BARE_ROOT = ["/usr/bin/setpriv", "--bounding-set", "-sys_ptrace"]

SPINS = """
import os, sys
print(os.getpid(), flush=True)
def spins_here():
    while True: sum(range(1000))
spins_here()
"""
# A program with a worker and a daemon whose parents have ended; each works until it has had enough.
FAMILY = """
import os, sys, time
def works():
    while time.process_time() < 2: sum(range(1000))
def as_main(): works()
def as_worker(): works()
def as_daemon(): works()
read, write = os.pipe()
if os.fork() == 0:
    as_worker(); os._exit(0)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid(); as_daemon(); os.close(write)
    os._exit(0)
os.close(write)
os.wait(); os.wait()
as_main()
os.read(read, 1)
sys.stdin.read()
sys.exit(7)
"""
# Works at two places, and goes on to the second once it is told.
PHASES = """
import sys, time
def works(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
def before(): works(1)
def after(): works(4)
before()
print(flush=True)
sys.stdin.readline()
after()
"""


@contextlib.contextmanager
def spinning():
    """The pid of a program of the owner's."""
    process = subprocess.Popen(AS_OWNER + [PYTHON, "-ISc", SPINS], stdout=subprocess.PIPE)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def folder(level, case):
    path = "/run/%d-%s" % (level, case)
    os.mkdir(path)
    os.chmod(path, 0o777)
    return path


def functions(words):
    status, out, _ = run([PYSTROBE, "report", "--json", "--top", "10000"] + words)
    return sorted({one["func"] for one in json.loads(out)["functions"]}) if status == 0 else []


def record(level, case, words, what):
    """Records something; tells what is in the profile."""
    path = folder(level, "record-" + case)
    status, _, errors = run(words + [PYSTROBE, "record", "-o", path + "/out.pb.gz"] + what)
    tell(level=level, case="record " + case, status=status, functions=functions([path + "/out.pb.gz"]), errors=errors)


def doctor(level, case, words, what=()):
    status, out, errors = run(words + [PYSTROBE, "doctor", "--json", *what])
    tell(level=level, case="doctor " + case, status=status, report=json.loads(out) if out else None, errors=errors)


READERS = {"the same user": AS_OWNER, "another user": AS_OTHER, "another user, capable": CAPABLE,
           "root": [], "root, not capable": BARE_ROOT}


def try_readers(level):
    with spinning() as pid:
        for case, words in READERS.items():
            record(level, case, words, ["-d", "1s", "--pid", str(pid)])
            doctor(level, case, words, ["--pid", str(pid)])
    record(level, "the parent", AS_OWNER, ["--", PYTHON, "-ISc", FAMILY])


# Who stands in front of the program, and the highest level at which that is enough: above, a line is waited for.
FRONTS = {"a user": (AS_OWNER, 1), "another user, capable": (CAPABLE, 2), "root": ([], 2)}


def try_exec(level):
    for case, (words, highest) in FRONTS.items():
        store = folder(level, "exec-" + case) + "/store"
        words = words + [PYSTROBE, "exec", "-r", "49", "--store", store, "-n", "app", "--", PYTHON, "-ISc", FAMILY]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
        errors = process.stderr.readline() if level > highest else ""
        errors += process.communicate(timeout=DEADLINE_S)[1]
        tell(level=level, case="exec " + case, status=process.returncode, functions=functions(["--store", store]),
             errors=errors)


def profiler_below(pid):
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/stat" % name, encoding="ascii") as file:
            comm, _, rest = file.read().partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            if comm == "pystrobe-prof" and int(parent) == pid and state != "Z":
                return int(name)
    return None


def wait_for(what):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


def try_second_profiler(level):
    """The profiler is killed: does the next one read the command?"""
    store = folder(level, "second") + "/store"
    words = AS_OWNER + [PYSTROBE, "exec", "--store", store, "-n", "app", "--", PYTHON, "-ISc", PHASES]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    process.stdout.readline()
    first = wait_for(lambda: profiler_below(process.pid))
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: profiler_below(process.pid) not in (None, first))
    _, errors = process.communicate(b"\n", timeout=DEADLINE_S)
    tell(level=level, case="a second profiler", status=process.returncode,
         functions=functions(["--store", store]), errors=errors.decode())


def main():
    mount()
    for level in range(4):
        with open(SCOPE, "w", encoding="ascii") as file:
            file.write(str(level))
        try_readers(level)
        try_exec(level)
        if level < 2:
            try_second_profiler(level)
    tell(case="done")


if __name__ == "__main__":
    main()
