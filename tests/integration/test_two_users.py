# SPDX-License-Identifier: Apache-2.0
"""Two users, one directory: root's pystrobe exec and the service share a store, and what keeps one out is told."""

import os
import re
import subprocess

import pytest

import entries
import live
import servers
from agents import SPOOLING, Agent
from doctors import CAPABLE, NOBODY, PYTHON, can_run, doctor, needs_root

NOBODY_ID = 65534
BUSY = "import time\nend = time.monotonic() + %g\nwhile time.monotonic() < end: sum(range(1000))"

pytestmark = needs_root


def give(*paths):
    for path in paths:
        os.chown(path, NOBODY_ID, NOBODY_ID)


@pytest.fixture
def shared(open_folder):
    """A directory of the service's user."""
    place = open_folder / "shared"
    place.mkdir(mode=0o700)
    give(place)
    return place


@pytest.fixture
def service(open_pystrobe, open_folder):
    """service(text, words) runs an agent with this ini under these words, as a user who is not root."""
    running = []

    def run(text, under):
        can_run(under)
        ini = open_folder / "service.ini"
        ini.write_text(text)
        running.append(Agent(open_pystrobe, ini, under))
        return running[-1]

    yield run
    for one in running:
        one.process.kill()
        one.process.wait()


def as_nobody(pystrobe, *args):
    return subprocess.run([*NOBODY, *pystrobe.words, pystrobe.path, *map(str, args)], cwd="/",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=live.DEADLINE_S)


def test_what_root_keeps_in_the_store_of_the_service_shuts_nobody_out(open_pystrobe, service, open_folder, shared):
    marker = "two-users-%d" % os.getpid()
    store = shared / "store"
    target = live.Target([PYTHON, "-c", BUSY % 60, marker])
    done = open_pystrobe.run("exec", "--store", store, "-n", "busy", "-r", "100", "--", PYTHON, "-c", BUSY % 0.5)
    assert (done.returncode, done.stderr) == (0, "")
    before = set(os.listdir(store / "busy"))

    try:
        run = service("[agent]\nrate = 50Hz\ninterval = 1s\nscan = 200ms\nmax_cpu = 100%%\ncontrol = %s/control\n"
                      "[target busy]\ncmdline = %s\n[exporter s]\ntype = store\npath = %s\n" % (shared, marker, store), CAPABLE)
        run.wait_for([target.pid])
        live.wait_until(lambda: len(os.listdir(store / "busy")) >= len(before) + 2, "the service stores profiles", 0.2)
        status, _ = run.stop()
    finally:
        target.stop()

    assert before and (status, [line for line in run.log if "WARN" in line or "exporter" in line and "fail" in line]) == (0, [])
    assert {os.stat(path).st_uid for path in [store, store / "busy", *store.glob("busy/*")]} == {NOBODY_ID}
    assert as_nobody(open_pystrobe, "report", "--store", store).returncode == 0


def test_an_agent_of_root_keeps_nothing_in_a_spool_of_another_user(open_pystrobe, open_folder, shared):
    ini = open_folder / "roots.ini"
    ini.write_text("[agent]\ncontrol = %s/control\nspool = %s\n" % (open_folder, shared))
    run = Agent(open_pystrobe, ini)
    try:
        line = run.wait_for_line("belongs to user")
    finally:
        run.stop()

    assert "%s: belongs to user %d: chown it to root" % (shared, NOBODY_ID) in line
    assert os.listdir(shared) == []


def test_a_store_that_was_spoiled_is_named_with_the_command_that_mends_it(open_pystrobe, open_folder, shared):
    ini = open_folder / "doctor.ini"
    ini.write_text("[agent]\nspool = off\n[exporter x]\ntype = store\npath = %s\n" % shared)
    fine = doctor(open_pystrobe, "-c", ini, words=NOBODY, status=0)["exporter x"]
    (shared / "busy").mkdir(mode=0o700)

    found = [doctor(open_pystrobe, "-c", ini, words=words)["exporter x"] for words in (NOBODY, ())]
    subprocess.run(found[0][2].split(), check=True)
    mended = doctor(open_pystrobe, "-c", ini, words=NOBODY, status=0)["exporter x"]

    assert (fine[0], mended[0]) == ("ok", "ok")
    for result, text, cure in found:
        assert result == "fail" and str(shared / "busy") in text
        assert cure == "chown -R --reference=%s %s" % (shared, shared)


def test_a_folder_of_a_spool_that_its_owner_cannot_read_is_named(open_pystrobe, open_folder, shared):
    ini = open_folder / "doctor.ini"
    ini.write_text("[agent]\nspool = %s\n" % shared)
    (shared / "bad").mkdir(mode=0)
    give(shared / "bad")

    result, text, cure = doctor(open_pystrobe, "-c", ini, words=NOBODY)["spool"]
    subprocess.run(cure.split(), check=True)

    assert result == "fail" and "%s/bad" % shared in text and "Permission denied" in text
    assert doctor(open_pystrobe, "-c", ini, words=NOBODY, status=0)["spool"][0] == "ok"


def test_spool_lists_what_it_can_and_names_the_rest(open_pystrobe, shared):
    for number in (1, 2, 3):
        entries.put(shared, number, "shop", b"x")
    files = [shared / ("%016x-server.batch" % number) for number in (1, 2, 3)]
    give(files[0], files[2])
    os.chmod(files[1], 0o600)
    why = "pystrobe: 2: %s: cannot read a batch: Permission denied\n" % shared

    listed = as_nobody(open_pystrobe, "spool", "-d", shared, "ls")
    written = as_nobody(open_pystrobe, "spool", "-d", shared, "cat", "2")

    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["ID", "1", "3"]
    assert (listed.returncode, listed.stderr) == (1, why)
    assert (written.returncode, written.stderr) == (1, why)
    assert as_nobody(open_pystrobe, "spool", "-d", shared, "rm", "-y", "2").returncode == 0


def test_a_report_lists_what_it_can_and_names_the_rest(open_pystrobe, shared):
    recorded = open_pystrobe.run("exec", "--store", shared, "-n", "fine", "-r", "100", "--", PYTHON, "-c", BUSY % 0.5)
    (shared / "busy").mkdir(mode=0o700)

    done = as_nobody(open_pystrobe, "report", "--store", shared)

    assert recorded.returncode == 0
    assert done.returncode == 1 and "<module>" in done.stdout
    assert done.stderr == ("pystrobe: left out: %s/busy: Permission denied, because it belongs to root; run this as "
                           "root\n" % shared)


def test_what_the_spool_has_of_somebody_else_is_told_once_and_counted(open_pystrobe, service, shared):
    port, = servers.free_ports(1)
    spool = shared / "spool"
    entries.put(spool, 1, "shop", b"x")
    entries.put(spool, 2, "shop", b"x")
    give(spool, *spool.glob("*1-*"))
    os.chmod(next(spool.glob("*2-*")), 0o600)
    run = service(SPOOLING.format(spool=spool, target="nothing-is-called-so").replace(
        "[target", "control = %s/control\n[target" % shared) +
        "[exporter server]\ntype = pyroscope\nurl = http://127.0.0.1:%d\n" % port, NOBODY)

    line = run.wait_for_line("cannot be read")
    live.wait_until(lambda: re.search(r"spool: .* 0 bad, 1 unreadable",
                                      open_pystrobe.run("status", "--socket", shared / "control").stdout),
                    "status counts it, too", 0.1)
    run.stop()

    assert "1 file of an earlier run" in line and "Permission denied" in line
    assert len([one for one in run.log if "cannot be read" in one]) == 1


CLOSED_CHILD = """
import ctypes, subprocess, sys, time
def open_spin():
    while True: sum(range(1000))
if len(sys.argv) > 1:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: only root may read it from now on
    print(flush=True)
    time.sleep(60)
child = subprocess.Popen([sys.executable, __file__, "closed"], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
open_spin()
"""


@pytest.mark.parametrize("words", [["record", "-d", "2s", "-o", "-"], ["top", "-n", "2", "-d", "1"]], ids=["record", "top"])
def test_children_that_cannot_be_read_are_named(open_pystrobe, open_folder, words):
    script = open_folder / "closed.py"
    script.write_text(CLOSED_CHILD)
    parent = subprocess.Popen([*NOBODY, PYTHON, script], stdout=subprocess.PIPE, text=True)
    try:
        child = int(parent.stdout.readline())
        done = subprocess.run([*NOBODY, *open_pystrobe.words, open_pystrobe.path, *words, "--children", "--pid", str(parent.pid)],
                              cwd="/", capture_output=True, timeout=live.DEADLINE_S)
    finally:
        parent.kill()
        parent.wait()
        os.kill(child, 9)

    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert "not sampled: process %d (" % child in told and "not dumpable" in told
    if words[0] == "record":
        assert "of CPU of what could be read, " in told


def test_members_of_the_agents_group_may_ask_and_give_no_orders(open_pystrobe, service, shared):
    shared.chmod(0o750)  # as the unit has its RuntimeDirectory=
    socket, group = shared / "c.sock", "--groups=%d" % NOBODY_ID
    run = service("[agent]\ncontrol = %s\n[exporter x]\ntype = store\npath = %s/store\n" % (socket, shared), CAPABLE)
    run.wait_for_line("started")

    def ask(groups, *words):
        return subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", groups, *open_pystrobe.words,
                               open_pystrobe.path, *words, "--socket", socket], cwd="/", capture_output=True, text=True,
                              timeout=live.DEADLINE_S)

    told = live.wait_until(lambda: [done for done in [ask(group, "status")] if done.returncode == 0], "an answer")[0]
    order, stranger = ask(group, "reload"), ask("--clear-groups", "status")

    assert "store" in told.stdout
    assert order.returncode == 1 and "only root and the user that the agent runs as may do that" in order.stderr
    assert stranger.returncode == 69 and "a directory above it belongs to nobody; run this as root or as that user, " \
        "or join its group: usermod -aG nogroup USER" in stranger.stderr


def test_members_of_the_agents_group_may_read_its_store(open_pystrobe, shared):
    shared.chmod(0o750)  # as the unit has its StateDirectory=
    store = shared / "store"
    recorded = open_pystrobe.run("exec", "--store", store, "-n", "fine", "-r", "100", "--", PYTHON, "-c", BUSY % 0.5)

    def report(groups):
        return subprocess.run(["setpriv", "--reuid=65533", "--regid=65533", groups, *open_pystrobe.words,
                               open_pystrobe.path, "report", "--store", store], cwd="/", capture_output=True, text=True,
                              timeout=live.DEADLINE_S)

    member, stranger = report("--groups=%d" % NOBODY_ID), report("--clear-groups")

    assert recorded.returncode == 0
    assert (member.returncode, member.stderr) == (0, "") and "<module>" in member.stdout
    assert stranger.returncode != 0
    assert "a directory above it belongs to nobody; run this as root or as that user, or join its group: usermod -aG " \
        "nogroup USER" in stranger.stderr
