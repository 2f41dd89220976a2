# SPDX-License-Identifier: Apache-2.0
"""Descendants whose parent has ended: they are recorded, or it is said that they are not."""

import json
import os
import signal
import subprocess

import pytest

import live
from conftest import MACHINES

PYTHON = MACHINES[-1]["exe"]

# At a line of its input it starts a process that starts `orphan` and ends; says the number of that.
FAMILY = """
import os, subprocess, sys, time
def orphan_spins():
    end = time.monotonic() + 60
    while time.monotonic() < end: sum(range(1000))
if sys.argv[1:] == ["orphan"]:
    while os.getppid() == int(sys.stdin.readline()): time.sleep(0.01)
    print(os.getpid(), flush=True)
    orphan_spins()
if sys.argv[1:] == ["middle"]:
    child = subprocess.Popen([sys.executable, __file__, "orphan"], stdin=subprocess.PIPE)
    child.stdin.write(b"%d\\n" % os.getpid() * 1000)
    child.stdin.close()
    os._exit(0)
sys.stdin.readline()
subprocess.check_call([sys.executable, __file__, "middle"])
sys.stdin.readline()
"""


@pytest.fixture
def family(tmp_path):
    """family(*words before the command): a Popen of the root, in a session of its own; all end with the test."""
    started, script = [], tmp_path / "family.py"
    script.write_text(FAMILY)

    def start(*words, **options):
        started.append(subprocess.Popen([*words, PYTHON, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True, env=live.clean_environment(), **options))
        return started[-1]

    yield start
    for one in started:
        for pid in os.listdir("/proc"):
            if pid.isdigit() and os.path.exists("/proc/%s/stat" % pid) and session_of(pid) == one.pid:
                os.kill(int(pid), signal.SIGKILL)
        with one:  # which waits for it
            pass


def session_of(pid):
    try:
        return os.getsid(int(pid))
    except ProcessLookupError:
        return 0


def make_orphan(root):
    """Gives its number."""
    root.stdin.write("\n")
    root.stdin.flush()
    return int(root.stdout.readline())


def functions_of(path):
    return {frame["func"] for line in path.read_text().splitlines()[1:] for frame in json.loads(line)["stack"]}


def test_children_has_one_that_comes_and_loses_its_parent(pystrobe, family, tmp_path):
    root, path = family(), tmp_path / "out.jsonl"
    recording = pystrobe.start("record", "-d", "3s", "-o", path, "--children", "--pid", root.pid, stderr=subprocess.PIPE,
                               text=True)
    make_orphan(root)
    errors = recording.communicate(timeout=live.DEADLINE_S)[1]

    assert recording.returncode == 0, errors
    assert "orphan_spins" in functions_of(path), errors


def test_children_has_one_that_lost_its_parent_before_and_says_so(pystrobe, family, tmp_path):
    root, path = family(), tmp_path / "out.jsonl"
    orphan = make_orphan(root)
    done = pystrobe.run("record", "-d", "2s", "-o", path, "--children", "--pid", root.pid)

    assert done.returncode == 0, done.stderr
    assert "orphan_spins" in functions_of(path), done.stderr
    assert "pystrobe: process %d (" % orphan in done.stderr and "is taken for a descendant by its process group" in done.stderr


def test_what_a_command_leaves_behind_is_named(pystrobe, family, tmp_path):
    path = tmp_path / "out.jsonl"
    recording = family(*pystrobe.words, pystrobe.path, "record", "-o", str(path), "--", stderr=subprocess.PIPE)
    orphan = make_orphan(recording)
    recording.stdin.close()
    live.wait_until(lambda: recording.poll() is not None, "the recording ends with its command")
    errors = os.read(recording.stderr.fileno(), 1 << 16).decode()

    assert recording.returncode == 0, errors
    assert "pystrobe: the command has ended; process %d (" % orphan in errors
    assert "runs on and is no longer sampled" in errors
