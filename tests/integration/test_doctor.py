# SPDX-License-Identifier: Apache-2.0
"""pystrobe doctor of processes: every cause is there for real, named with its cure, and the cure helps."""

import os
import shutil
import subprocess

import pytest

from doctors import (BARE_ROOT, CAPABLE, NOBODY, PYTHON, WAITS, can_run, doctor, filtered, landlocked, needs_root,
                     running)

UNDUMPABLE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " + WAITS
DROPS_ROOT = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); " + WAITS
IN_PIDS_OF_ITS_OWN = ["unshare", "-pf", "--mount-proc"]
IN_USERS_OF_ITS_OWN = ["unshare", "-Ur"]
# What a filter does: SECCOMP_RET_ERRNO with EPERM, ..._KILL_PROCESS, ..._USER_NOTIF
REFUSED, KILLED, HELD = 0x00050001, 0x80000000, 0x7FC00000
# Tells that it runs, and ends with its parent.
BESIDE = "import ctypes, sys, time; ctypes.CDLL(None).prctl(1, 9); open(sys.argv[1], 'w').write('up'); time.sleep(60)"


def beside_a_python(folder):
    """The words that run a command which gets the pid of a Python, its child, as the last one."""
    script = '%s -c "%s" %s/up >/dev/null 2>&1 & until [ -s %s/up ]; do sleep 0.05; done; exec "$@" --pid $!'
    return ["sh", "-c", script % (PYTHON, BESIDE, folder, folder), "-"]


def test_a_python_process_is_sampled(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, status=0)

    assert found["interpreter"][1].startswith("CPython 3.") and found["sample"][1].startswith("1 thread in")


# Its own process is all that it needs to ask about the scheduler.
def test_it_tells_whether_the_kernel_shows_who_has_a_cpu(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid, status=0)["busy hosts"]

    if os.path.exists("/proc/self/sched"):
        assert result == "ok" and text.startswith("the kernel tells") and not cure
    else:
        assert result == "note" and "shown where threads wait" in text and "CONFIG_SCHED_DEBUG" in cure


# What there is no process of

def test_a_process_that_has_ended_is_told(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        pass

    result, text, cure = doctor(pystrobe, "--pid", pid)["process"]

    assert result == "fail" and "no such process" in text and "pgrep" in cure


def test_a_process_that_its_parent_has_not_fetched_is_told(pystrobe):
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    result, text, cure = doctor(pystrobe, "--pid", child.pid)["process"]
    child.wait()

    assert result == "fail" and "has ended and waits for its parent" in text and cure


@needs_root
def test_in_a_pid_namespace_the_hosts_number_means_nothing(pystrobe):
    can_run(IN_PIDS_OF_ITS_OWN)

    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=IN_PIDS_OF_ITS_OWN)

    assert found["pid namespace"][0] == "note" and "--pid=host" in found["pid namespace"][2]
    assert found["process"][0] == "fail" and "in this pid namespace" in found["process"][1]
    assert "--pid=host" in found["process"][2] and "pgrep" in found["process"][2]


@needs_root
def test_in_a_pid_namespace_its_own_processes_are_sampled(pystrobe, tmp_path):
    can_run(IN_PIDS_OF_ITS_OWN)

    found = doctor(pystrobe, words=IN_PIDS_OF_ITS_OWN + beside_a_python(tmp_path), status=0)

    assert found["sample"][0] == "ok" and "each of the 1 " in found["other processes"][1]


@needs_root
def test_the_proc_of_another_pid_namespace_is_told_before_numbers_are_mistaken(pystrobe):
    can_run(["unshare", "-pf"])

    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=["unshare", "-pf"])

    assert list(found) == ["proc"] and found["proc"][0] == "fail" and "mount -t proc" in found["proc"][2]


@needs_root
def test_a_machine_without_proc_is_told(pystrobe):
    words = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-"]
    can_run(words)

    found = doctor(pystrobe, words=words)

    assert "not mounted" in found["proc"][1] and "mount -t proc" in found["proc"][2]


# Who may not read it

def hidden(level):
    """The words that run a command where /proc hides others' processes so much."""
    return ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=%d proc /proc && exec "$@"' % level, "-"]


# cause: who runs the target and what, who runs the doctor, what is said and what is to be done; who may, by that
CAUSES = {
    "of another user": ([], WAITS, NOBODY, "belongs to another user", "CAP_SYS_PTRACE", CAPABLE),
    "not dumpable": (NOBODY, UNDUMPABLE, NOBODY, "is not dumpable", "CAP_SYS_PTRACE", CAPABLE),
    "of one that was root": ([], DROPS_ROOT, NOBODY, "has changed its user", "CAP_SYS_PTRACE", CAPABLE),
    "of root and not dumpable": (BARE_ROOT, UNDUMPABLE, BARE_ROOT, "not dumpable, or a security module",
                                 "CAP_SYS_PTRACE", []),
    "with more capabilities": ([], WAITS, BARE_ROOT, "capabilities that pystrobe does not have", "CAP_SYS_PTRACE", []),
    "in another user namespace": ([], WAITS, IN_USERS_OF_ITS_OWN, "another user namespace", "on the host", []),
    "hidden at level 1": ([], WAITS, hidden(1) + NOBODY, "hidepid", "CAP_SYS_PTRACE", hidden(1) + CAPABLE),
    "hidden at level 2": ([], WAITS, hidden(2) + NOBODY, "hidepid", "CAP_SYS_PTRACE", hidden(2) + CAPABLE),
    "hidden at level 4": ([], WAITS, hidden(4) + NOBODY, "hidepid", "CAP_SYS_PTRACE", hidden(4) + CAPABLE),
    "refused by a security module": ([], WAITS, landlocked(), "a security module", "ptrace (read)", []),
    "of the same user, refused so": (NOBODY, WAITS, NOBODY + landlocked(), "a security module", "ptrace (read)",
                                     NOBODY),
    "refused so where calls are, too": ([], WAITS, filtered(REFUSED) + landlocked(), "a security module",
                                        "ptrace (read)", filtered(REFUSED)),
}


@needs_root
@pytest.mark.parametrize("cause", CAUSES)
def test_a_process_that_cannot_be_read_is_told_by_its_cause_and_the_cure_helps(open_pystrobe, cause):
    target, script, words, told, cure_told, cured = CAUSES[cause]
    can_run(words)

    with running(*target, PYTHON, "-c", script) as pid:
        result, text, cure = doctor(open_pystrobe, "--pid", pid, words=words)["process"]
        after = doctor(open_pystrobe, "--pid", pid, words=cured, status=0)

    assert result == "fail" and told in text and cure_told in cure and "\n" not in cure
    assert after["process"][0] == "ok" and after["sample"][0] == "ok"


@needs_root
def test_a_security_module_in_a_user_namespace_is_told_from_the_namespace(pystrobe, tmp_path):
    can_run(IN_USERS_OF_ITS_OWN)

    found = doctor(pystrobe, words=IN_USERS_OF_ITS_OWN + beside_a_python(tmp_path) + landlocked())

    assert found["user namespace"][0] == "note" and "in this user namespace" in found["CAP_SYS_PTRACE"][1]
    assert "a security module" in found["process"][1]


@needs_root
def test_what_a_security_module_calls_pystrobe_is_told(pystrobe, tmp_path):
    label = tmp_path / "label"
    label.write_text("docker-default (enforce)\n")
    words = ["unshare", "-m", "sh", "-c", 'mount --bind %s /proc/$$/attr/current && exec "$@"' % label, "-"]
    can_run(words)

    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=words + landlocked())

    assert "docker-default (enforce)" in found["security module"][1]


# Filters of system calls

def test_a_seccomp_filter_is_told_and_got_around(pystrobe):
    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=filtered(REFUSED), status=0)

    assert found["reading memory"][0] == "note" and "seccomp" in found["reading memory"][1]
    assert found["sample"][0] == "ok"


@pytest.mark.parametrize("action, told", [(KILLED, "kills"), (HELD, "blocks")])
def test_a_seccomp_filter_that_kills_or_blocks_is_told_and_stops_no_doctor(pystrobe, action, told):
    with running(PYTHON, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=filtered(action))

    assert found["reading memory"][0] == "fail" and told in found["reading memory"][1]
    assert "allow process_vm_readv" in found["reading memory"][2]


# Yama, as far as a file can play it; tests/yama has the real one

@needs_root
@pytest.mark.parametrize("scope, result, told", [(0, "ok", "is 0"), (1, "note", "ancestors"), (2, "fail", "is 2"),
                                                 (3, "fail", "is 3")])
def test_the_level_of_yama_is_told(pystrobe, scope, result, told):
    words = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
             'echo %d >/proc/sys/kernel/yama/ptrace_scope && exec "$@"' % scope, "-"]
    can_run(words)

    found = doctor(pystrobe, words=words + BARE_ROOT, status=int(result == "fail"))

    assert found["yama"][0] == result and told in found["yama"][1]


# Without any process being named

@needs_root
@pytest.mark.parametrize("words, result, told", [
    (NOBODY, "note", "belongs to another user"), (hidden(2) + NOBODY, "note", "hidepid"),
    (landlocked(), "note", "a security module"), (IN_USERS_OF_ITS_OWN, "note", "another user namespace")])
def test_all_processes_are_tried(pystrobe, words, result, told):
    can_run(words)

    with running(PYTHON, "-c", WAITS):
        found = doctor(pystrobe, words=words, status=0)

    assert found["other processes"][0] == result and told in found["other processes"][1]
    assert found["other processes"][2]


# What they run

def test_what_is_no_python_is_told(pystrobe):
    with running("sh", "-c", "echo $$; read line") as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid)["interpreter"]

    assert result == "fail" and "runs no CPython" in text and "3.6" in cure


OTHER_PYTHON = """
#include <stdio.h>
#include <unistd.h>
unsigned long Py_Version = %s;
char _PyRuntime[4096] = {1};
int main(void) { printf("%%d\\n", (int)getpid()); fflush(stdout); return getchar() == 0; }
"""


@pytest.mark.parametrize("name, version, told", [("python3.5", "0x030502f0", "CPython 3.5.2 is not known"),
                                                 ("pypy3.10", "0", "PyPy")])
def test_an_interpreter_that_is_not_supported_is_told_by_its_name(pystrobe, tmp_path, name, version, told):
    source = OTHER_PYTHON if version != "0" else OTHER_PYTHON.replace("_PyRuntime", "rpython")
    (tmp_path / "main.c").write_text(source % version)
    subprocess.run(["cc", "-rdynamic", "-o", tmp_path / name, tmp_path / "main.c"], check=True)
    (tmp_path / "dry.ini").write_text("[target all]\nexe = *\n[agent]\nspool = off\n")

    with running(tmp_path / name) as pid:
        result, text, cure = doctor(pystrobe, "--pid", pid)["interpreter"]
        dry = pystrobe.run("agent", "--dry-run", "-c", tmp_path / "dry.ini").stdout

    assert result == "fail" and told in text and "3.6 to 3.15" in cure
    assert told in dry.partition("Pythons that would not")[2]


@needs_root
def test_what_cannot_be_looked_at_without_a_capability_is_told(pystrobe, tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    python = shutil.copy(os.path.realpath(PYTHON), private)
    with_one = NOBODY + ["--inh-caps", "+sys_ptrace", "--ambient-caps", "+sys_ptrace"]

    with running("env", "PYTHONHOME=/usr", python, "-c", WAITS) as pid:
        found = doctor(pystrobe, "--pid", pid, words=with_one, status=0)
        after = doctor(pystrobe, "--pid", pid, words=CAPABLE, status=0)

    assert found["CAP_SYS_PTRACE"][0] == "ok" and found["sample"][0] == "ok"  # what it exports is in its memory
    assert found["CAP_DAC_READ_SEARCH"][0] == "note" and "CAP_DAC_READ_SEARCH" in found["CAP_DAC_READ_SEARCH"][2]
    assert after["CAP_DAC_READ_SEARCH"][0] == "ok" and after["sample"][0] == "ok"


def test_people_get_lines_with_the_cure(pystrobe):
    done = pystrobe.run("doctor", "--pid", "999999999")

    assert done.returncode == 1
    assert "FAIL  process" in done.stdout and "\n      do: " in done.stdout and "\033" not in done.stdout
