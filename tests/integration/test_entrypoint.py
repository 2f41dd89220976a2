# SPDX-License-Identifier: Apache-2.0
"""pystrobe exec as the first process of a container: under runc, and of a pid namespace next to tini."""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import live
import profiles
import runc

pytestmark = pytest.mark.long

PYTHON = "/usr/bin/python3"
BURNS = """
import os, sys, time
print(os.getpid(), os.getppid(), flush=True)
def burn():
    while time.process_time() < 2: sum(range(1000))
burn()
sys.exit(7)
"""


@pytest.fixture
def container(tmp_path):
    why = runc.why_not()
    if why:
        live.unavailable(why)
    one = runc.Container(tmp_path)
    first = one.run(["true"])
    if first.returncode != 0:
        live.unavailable("runc does not work here: " + first.stderr)
    yield one
    one.stop()


# user, what else: that the command's Python is profiled, without a word.
SETUPS = {
    "root, as Docker starts it": {},
    "a plain user, no capability": {"user": 1000},
    "root, no capability": {"capabilities": []},
    "a plain user, a profile without process_vm_readv": {"user": 1000, "without": ["process_vm_readv", "ptrace"]},
    "root, a profile without process_vm_readv": {"without": ["process_vm_readv", "ptrace"]},
    "root, CAP_SYS_PTRACE added": {"capabilities": runc.DOCKER + ["CAP_SYS_PTRACE"]},
    "a plain user, no new privileges": {"user": 1000, "no_new_privileges": True},
    "a plain user without a name": {"user": 54321},
    "a plain user, others hidden": {"user": 1000, "proc_options": ["hidepid=2"]},
}


@pytest.mark.parametrize("setup", SETUPS)
def test_in_a_container_the_command_is_profiled(open_pystrobe, container, setup):
    done = container.run([open_pystrobe.path, "exec", "--store", "/run/store", "-n", "burner", "--", PYTHON, "-c", BURNS],
                         **SETUPS[setup])

    assert (done.returncode, done.stderr) == (7, "")
    app, parent = done.stdout.split()
    assert parent == "1" and app != "1"
    found = profiles.in_store(container.folder / "run" / "store", "burner")
    assert profiles.total(found, "cpu", lambda sample: any(one["func"] == "burn" for one in sample["stack"])) > 1e9


def test_what_cannot_be_profiled_runs_and_is_told(open_pystrobe, container):
    drop = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", PYTHON, "-c", BURNS]

    done = container.run([open_pystrobe.path, "exec", "--store", "/run/store", "--"] + drop)
    mended = container.run([open_pystrobe.path, "exec", "--store", "/run/store2", "--"] + drop,
                           capabilities=runc.DOCKER + ["CAP_SYS_PTRACE"])

    assert done.returncode == 7 and len(done.stderr.splitlines()) == 1
    assert "belongs to another user" in done.stderr and "--cap-add SYS_PTRACE" in done.stderr
    assert (mended.returncode, mended.stderr) == (7, "")


BESIDE = "%s -c '%s' >/dev/null & until [ -e /run/up ]; do sleep 0.05; done; exec %s doctor --json --pid $!"
UP = 'import os, time; %s; open("/run/up", "w").close(); time.sleep(60)'


def examine(pystrobe, container, changes="", **rights):
    """What the doctor says in a container of a Python beside it that `changes` something of itself."""
    done = container.run(["sh", "-c", BESIDE % (PYTHON, UP % (changes or "pass"), pystrobe.path)], **rights)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    return {one["check"]: (one["result"], one["text"], one["cure"] or "") for one in report["checks"]}


@pytest.mark.parametrize("setup", SETUPS)
def test_in_a_container_the_doctor_samples_what_is_beside_it(open_pystrobe, container, setup):
    found = examine(open_pystrobe, container, **SETUPS[setup])

    assert found["sample"][0] == "ok" and found["pid namespace"][0] == "note"
    assert "--pid=host" in found["pid namespace"][2]
    assert found["reading memory"][0] == ("note" if "without" in SETUPS[setup] else "ok")


def test_in_a_container_the_doctor_names_what_docker_wants_to_be_told(open_pystrobe, container):
    leaves = "os.setgid(1000); os.setuid(1000)"

    found = examine(open_pystrobe, container, leaves)
    (container.folder / "run" / "up").unlink()
    mended = examine(open_pystrobe, container, leaves, capabilities=runc.DOCKER + ["CAP_SYS_PTRACE"])
    elsewhere = container.run([open_pystrobe.path, "doctor", "--pid", str(os.getpid())])

    assert found["process"][0] == "fail" and "--cap-add SYS_PTRACE" in found["process"][2]
    assert mended["sample"][0] == "ok"
    assert elsewhere.returncode == 1 and "no such process in this pid namespace" in elsewhere.stdout


@pytest.mark.parametrize("suite", ["test_subprocess", "test_signal"])
def test_pythons_own_tests_of_processes_see_no_difference(pystrobe, tmp_path, suite):
    if subprocess.run([PYTHON, "-c", "import test." + suite]).returncode != 0:
        pytest.fail("Python's own tests are not there: make deps")

    def outcomes(name, words):
        (tmp_path / name).mkdir()
        report = tmp_path / name / "report.xml"
        done = subprocess.run(words + [PYTHON, "-m", "test", "--junit-xml", report, suite], cwd=tmp_path / name,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-4000:]
        return {case.get("name"): case.get("result") + "".join(child.tag for child in case)
                for case in ElementTree.parse(report).getroot().iter("testcase")}

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        alone = pool.submit(outcomes, "alone", [])
        below = pool.submit(outcomes, "below", [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"])

    assert len(alone.result()) > 30
    assert below.result() == alone.result()


def test_a_command_starts_hardly_later_and_little_memory_is_taken():
    program = os.path.join(live.TESTS, "bench", "exec.py")
    done = subprocess.run([PYTHON, program, "--build", os.environ["PYSTROBE_BUILD"], "--rounds", "40", "--check"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=live.DEADLINE_S)

    assert done.returncode == 0, done.stdout
    print(done.stdout)


# As the first process of a pid namespace, next to tini

FIRST = ["unshare", "-pf", "--mount-proc", "--kill-child"]


@pytest.fixture
def first():
    if subprocess.run(FIRST + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        live.unavailable("no pid namespace can be made here")
    if not shutil.which("tini"):
        pytest.fail("tini is not there: make deps")


def test_all_exit_statuses_are_those_of_tini(pystrobe, tmp_path, first):
    def statuses(status):
        words = ["sh", "-c", "exit %d" % status]
        ours = FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"] + words
        return [subprocess.run(one, timeout=live.DEADLINE_S, stderr=subprocess.PIPE).returncode
                for one in (ours, FIRST + ["tini", "--"] + words)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(statuses, range(256))) == [[status, status] for status in range(256)]


FORKS = """
import os, sys, time
def burn():
    while time.process_time() < 1: sum(range(1000))
def parent(): burn()
def child(): burn()
parent()
if os.fork():
    os.wait()
else:
    child()
print(os.getpid(), os.getppid())
"""


def test_process_2_and_its_children_are_no_threads_of_the_kernel(pystrobe, tmp_path, first):
    done = subprocess.run(FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "-n", "burner", "--",
                                   PYTHON, "-c", FORKS], capture_output=True, text=True, timeout=live.DEADLINE_S)

    found = profiles.in_store(tmp_path / "store", "burner")
    names = {one["func"] for profile in found for sample in profile["samples"] for one in sample["stack"]}
    assert (done.returncode, done.stderr) == (0, "") and "2 1" in done.stdout
    assert {"parent", "child"} <= names


@pytest.mark.parametrize("number", sorted(signal.valid_signals() - {signal.SIGCHLD}))
def test_deaths_by_signals_are_those_of_tini(pystrobe, tmp_path, first, number):
    words = ["sh", "-c", "ulimit -c 0; kill -%d $$; kill -CONT $PPID; exit 3" % number]
    if number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        pytest.skip("it stops")

    ours = subprocess.run(FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"] + words,
                          timeout=live.DEADLINE_S)
    theirs = subprocess.run(FIRST + ["tini", "--"] + words, timeout=live.DEADLINE_S)

    assert ours.returncode == theirs.returncode


def test_orphans_of_the_first_process_are_reaped(pystrobe, tmp_path, first):
    script = "for i in $(seq 200); do (true & ) & done; wait; exec %s -c '%s'" % (PYTHON, """
import os
def state(pid):
    try:
        return open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0]
    except OSError:
        return None
while any(state(pid) == "Z" for pid in os.listdir("/proc") if pid.isdigit()):
    pass
raise SystemExit(17)""")

    done = subprocess.run(FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--", "sh", "-c", script],
                          timeout=live.DEADLINE_S)

    assert done.returncode == 17
