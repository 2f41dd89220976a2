# SPDX-License-Identifier: Apache-2.0
"""What the tests of pystrobe doctor share: who runs it, what it looks at, and what it says."""

import contextlib
import json
import os
import subprocess

import pytest

import live

PYTHON = "/usr/bin/python3"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CAPABLE = NOBODY + ["--inh-caps", "+sys_ptrace,+dac_read_search", "--ambient-caps", "+sys_ptrace,+dac_read_search"]
BARE_ROOT = ["setpriv", "--bounding-set", "-sys_ptrace"]
WAITS = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

# A filter that does something to whoever calls process_vm_readv, and a command under it.
FILTERED = """
import ctypes, os, struct, sys
number, filter_call = {"x86_64": (310, 317), "aarch64": (270, 277)}[os.uname().machine]
action = int(sys.argv[1])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, action), (0x06, 0, 0, 0x7fff0000)]
rules = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
program = Program(len(code), ctypes.cast(rules, ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
listener = libc.syscall(filter_call, 1, 8 if action == 0x7fc00000 else 0, ctypes.byref(program))
assert listener >= 0
if listener > 0:  # SECCOMP_RET_USER_NOTIF: who has it would answer; nobody does
    os.set_inheritable(listener, True)
os.execvp(sys.argv[2], sys.argv[2:])
"""

# A domain of Landlock, the security module that needs no administrator: nothing outside of it can be read.
LANDLOCKED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rules = libc.syscall(444, struct.pack("Q", 1 << 12), 8, 0)  # landlock_create_ruleset: no symbolic links may be made
assert rules >= 0 and libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(446, rules, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


def filtered(action):
    """The words that run a command under a filter of process_vm_readv."""
    return [PYTHON, "-c", FILTERED, str(action)]


def landlocked():
    return [PYTHON, "-c", LANDLOCKED]


def can_run(words):
    """Skips the test where these words cannot run a command."""
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("%s cannot be had here" % words[0])


@contextlib.contextmanager
def running(*words):
    """Runs a program that prints its pid and waits; gives the pid."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")
    try:
        yield int(process.stdout.readline())
    finally:
        process.communicate()


def doctor(pystrobe, *args, words=(), status=1, env=None):
    """The checks that `pystrobe doctor --json` made, after `words`: {check: (result, text, cure)}."""
    done = subprocess.run([*words, *pystrobe.words, pystrobe.path, "doctor", "--json", *map(str, args)], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=live.DEADLINE_S, cwd="/")
    assert done.returncode == status, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["good"] == (status == 0)
    found = {}
    for check in report["checks"]:
        if found.get(check["check"], ("ok",))[0] == "ok":
            found[check["check"]] = (check["result"], check["text"], check["cure"] or "")
    return found
