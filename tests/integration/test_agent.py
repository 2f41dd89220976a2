# SPDX-License-Identifier: Apache-2.0
"""The agent end to end: live processes on one side, a receiver or a store on the other."""

import os
import subprocess
import time

import pytest

import live
import profiles
from conftest import MACHINES
from doctors import can_run
from receiver import Receiver

THREADS_BESIDE = 2  # of busy.py: the main one and the one that waits for the end of its input


def python_of(number):
    return MACHINES[number % len(MACHINES)]


def exe_of(python):
    return os.path.realpath(python["exe"])


INI = """
[agent]
rate = 100Hz
interval = 2s
scan = 200ms
[labels]
env = test
"""

TARGETS = """
[target shop]
cmdline = busy\\.py --duty 0\\.[3-9]
split = process
[target desk]
cmdline = busy\\.py --duty 0\\.1
split = process
"""


def sums_by_pid(pushes, kind):
    """{pid: the value's total} over the pushes of one kind."""
    sums = {}
    for push in pushes:
        if push.labels["__name__"] != kind:
            continue
        strings = push.profile.string_table
        for sample in push.profile.sample:
            pid = next(int(strings[label.str]) for label in sample.label if strings[label.key] == "process_pid")
            sums[pid] = sums.get(pid, 0) + sample.value[0]
    return sums


ODD_NAMES = """
[labels]
cost-center = 12
[target shop]
service = shop
cmdline = busy\\.py --duty 0\\.23
split = thread
label.1a = x
label.gr\u00f6\u00dfe = XL
"""


def test_a_pyroscope_gets_names_that_it_takes(agent, start, pystrobe, tmp_path):
    """The receiver refuses the whole of a profile that has one name that a Pyroscope may refuse."""
    pid = start(python_of(0), "busy.py", "--duty", 0.23, "--threads", 2).read_json()["pid"]
    with Receiver(profiles.BUILD) as receiver:
        ini = INI.replace("[labels]\nenv = test\n", ODD_NAMES) + "[exporter out]\ntype = pyroscope\nurl = %s\n" % receiver.url
        run = agent(ini)
        pushes = receiver.wait(2)
        run.stop()

    assert receiver.errors == []
    for push in pushes:
        assert {"cost_center": "12", "_1a": "x", "gr__e": "XL"}.items() <= push.labels.items()
    strings = [(push.profile.string_table, sample) for push in pushes for sample in push.profile.sample]
    found = [{names[label.key]: names[label.str] for label in sample.label} for names, sample in strings]
    assert {labels["process_pid"] for labels in found} == {str(pid)}
    assert len({labels["thread_id"] for labels in found if "thread_id" in labels}) >= 3
    assert "MainThread" in {labels.get("thread_name") for labels in found}
    told = [line for line in run.log if "it is sent as" in line]
    assert sorted(line.strip().split("label ")[1] for line in told) == \
        ["1a: it is sent as _1a", "cost-center: it is sent as cost_center", "gr\u00f6\u00dfe: it is sent as gr__e"]
    checked = tmp_path / "odd.ini"
    checked.write_text(ini, encoding="utf-8")
    done = pystrobe.run("check", "-c", checked)
    assert done.returncode == 0 and done.stderr.count("it is sent as") == 3


@pytest.mark.alone
@pytest.mark.timing
def test_two_services_of_five_processes_add_up(agent, start):
    duties = [0.5, 0.3, 0.3, 0.1, 0.1]
    targets = [start(python_of(number), "busy.py", "--duty", duty) for number, duty in enumerate(duties)]
    pids = [target.read_json()["pid"] for target in targets]

    bounds = profiles.Bounds(pids)

    with Receiver(profiles.BUILD) as receiver:
        run = agent(INI + TARGETS + "[exporter out]\ntype = pyroscope\nurl = %s\n" % receiver.url)
        bounds.begin(run.process.pid)
        time.sleep(7)
        status, _ = run.stop(bounds)
        pushes = receiver.wait(1)

    assert (status, receiver.errors) == (0, [])
    assert {push.labels["service_name"] for push in pushes} == {"shop", "desk"}
    assert {push.labels["__name__"] for push in pushes} == {"process_cpu", "wall"}
    assert {push.labels["env"] for push in pushes} == {"test"}
    wall, cpu = sums_by_pid(pushes, "wall"), sums_by_pid(pushes, "process_cpu")
    assert sorted(wall) == sorted(cpu) == sorted(pids)
    for pid in pids:
        assert profiles.is_within(wall[pid] / (1 + THREADS_BESIDE), bounds.wall(pid), 0.02), "wall of %d" % pid
        assert profiles.is_within(cpu[pid], bounds.cpu(pid), 0.03), "cpu of %d" % pid


def test_the_store_has_all_values_in_one_file(agent, start, tmp_path):
    target = start(python_of(0), "busy.py", "--duty", 0.5)
    pid = target.read_json()["pid"]
    run = agent(INI + TARGETS + "[exporter out]\ntype = store\npath = %s\n" % (tmp_path / "store"))
    run.wait_for([pid])
    live.wait_until(lambda: len(profiles.paths_in_store(tmp_path / "store", "shop")) >= 2, "two intervals")
    status, _ = run.stop()

    found = profiles.in_store(tmp_path / "store", "shop")

    assert status == 0
    assert len(found) >= 3  # and the last one at its end
    assert [value_type["type"] for value_type in found[0]["sample_types"]] == ["samples", "wall", "cpu", "gil", "wait"]
    assert "service: shop" in found[0]["comments"] and "label: env=test" in found[0]["comments"]
    functions = {frame["func"] for profile in found for sample in profile["samples"] for frame in sample["stack"]}
    assert {"burn_most", "burn_some", "burn_little"} <= functions
    cpu = profiles.total(found, "cpu")
    hot = profiles.total(found, "cpu",
                         lambda sample: any(frame["func"].startswith("burn_") for frame in sample["stack"]))
    assert hot > 0.8 * cpu
    assert 0 < profiles.total(found, "gil") <= profiles.total(found, "wall")


@pytest.mark.alone
def test_processes_that_come_and_go_are_followed(agent, start, tmp_path):
    run = agent(INI + TARGETS + "[exporter out]\ntype = store\npath = %s\n" % (tmp_path / "store"))
    pids = []
    for _ in range(3):
        target = start(python_of(0), "busy.py", "--duty", 0.1)
        pids.append(target.read_json()["pid"])
        run.wait_for(pids[-1:])
        time.sleep(1)
        target.end()

    status, _ = run.stop()

    assert status == 0
    found = profiles.in_store(tmp_path / "store", "desk")
    seen = {sample["labels"]["pid"] for profile in found for sample in profile["samples"]}
    copies = seen - set(pids)  # which they fork to execute another program
    assert set(pids) <= seen
    assert profiles.total(found, "cpu", lambda sample: sample["labels"]["pid"] in copies) < 0.1 * profiles.total(found, "cpu")


def test_a_dead_server_holds_up_neither_sampling_nor_the_end(agent, start, tmp_path):
    pid = start(python_of(0), "busy.py", "--duty", 0.1).read_json()["pid"]
    bounds = profiles.Bounds([pid])
    with Receiver(profiles.BUILD) as receiver:
        receiver.delay(10 * live.DEADLINE_S)  # whoever waits for it hangs
        run = agent(INI + TARGETS + "[exporter dead]\ntype = pyroscope\ntimeout = 10m\nurl = %s\n" % receiver.url +
                    "[exporter out]\ntype = store\npath = %s\n" % (tmp_path / "store"))
        bounds.begin(run.process.pid)
        time.sleep(5)
        status, _ = run.stop(bounds)
        receiver.delay(0)

    assert status == 0
    walls = profiles.in_store(tmp_path / "store", "desk")
    assert profiles.is_within(profiles.total(walls, "wall") / (1 + THREADS_BESIDE), bounds.wall(pid), 0.02)


@pytest.mark.alone
def test_the_agent_never_profiles_itself_nor_what_is_not_python(agent, start, tmp_path):
    pid = start(python_of(0), "busy.py", "--duty", 0.1).read_json()["pid"]
    run = agent(INI + "[target all]\ncmdline = .\n[exporter out]\ntype = store\npath = %s\n" % (tmp_path / "store"))
    run.wait_for([pid])
    time.sleep(1)

    run.stop()

    assert run.process.pid not in run.attached
    assert 1 not in run.attached or "python" in open("/proc/1/cmdline").read()


def test_a_bad_ini_ends_it_with_78_and_all_mistakes(pystrobe, tmp_path):
    ini = tmp_path / "bad.ini"
    ini.write_text("[agent]\nrate = 19\nintervall = 15s\n[target web]\n")

    done = pystrobe.run("agent", "-c", ini)

    assert done.returncode == 78
    assert "bad.ini:2" in done.stderr and "bad.ini:3" in done.stderr and "interval" in done.stderr


@pytest.mark.parametrize("beside, warns", [("", True), ("sleep 60 &", False)])
def test_alone_in_a_container_it_says_how_to_see_others(pystrobe, tmp_path, beside, warns):
    words = ["unshare", "-pf", "--mount-proc", "--kill-child"]
    can_run(words)
    ini = tmp_path / "agent.ini"
    ini.write_text("[agent]\ncontrol = %s/control\n[target all]\nexe = *\n[exporter s]\ntype = store\npath = %s/store\n"
                   % (tmp_path, tmp_path))
    words += ["sh", "-c", beside + ' exec "$@"', "-", pystrobe.path, "agent", "-c", str(ini)]

    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=live.clean_environment())
    try:
        lines = [process.stderr.readline()]
        while lines[-1] and "started: 1 target" not in lines[-1]:
            lines.append(process.stderr.readline())
    finally:
        process.kill()
        process.communicate(timeout=live.DEADLINE_S)

    assert "started: 1 target" in lines[-1], lines
    assert any("start it with --pid=host" in line for line in lines) == warns, lines


def test_what_is_not_there_yet_is_waited_for(pystrobe, agent, start, tmp_path):
    place, control = tmp_path / "disk", tmp_path / "control"
    place.write_text("no disk is mounted here")
    target = start(python_of(-1), "busy.py", "--duty", 0.2)
    pid = target.read_json()["pid"]
    run = agent("[agent]\nrate = 50Hz\ninterval = 1s\nscan = 200ms\nmax_cpu = 100%%\ncontrol = %s\n"
                "[target all]\ncmdline = busy\\.py\n[exporter late]\ntype = store\npath = %s/store\n"
                "[exporter ready]\ntype = store\npath = %s\n" % (control, place, tmp_path / "ready"))
    line = run.wait_for_line("exporter late")
    run.wait_for([pid])
    live.wait_until(lambda: list((tmp_path / "ready").glob("*/*")), "the other exporter works", 0.1)
    told = pystrobe.run("status", "--socket", control).stdout

    place.unlink()
    place.mkdir()
    run.wait_for_line("works again")

    assert "%s/store: Not a directory: disk is a file; name another path; it will be tried again" % place in line
    assert "%s/store: Not a directory" % place in told
    assert list(place.glob("store/*/*"))
    assert run.stop()[0] == 0
    assert len([one for one in run.log if "exporter late" in one and "Not a directory" in one]) == 1


@pytest.mark.alone
@pytest.mark.nightly
def test_what_five_processes_at_100_hz_cost(agent, start, tmp_path):
    targets = [start(python_of(-1), "busy.py", "--duty", 0.2) for _ in range(5)]
    pids = [target.read_json()["pid"] for target in targets]
    run = agent(INI + "[target all]\ncmdline = busy\\.py\n" +
                "[exporter out]\ntype = store\npath = %s\n" % (tmp_path / "store"))
    run.wait_for(pids)
    before, started = profiles.cpu_ns(run.process.pid), time.monotonic_ns()

    time.sleep(6)

    cost = (profiles.cpu_ns(run.process.pid) - before) / (time.monotonic_ns() - started)
    with open("/proc/%d/status" % run.process.pid) as file:
        memory = next(line.split()[1] for line in file if line.startswith("VmRSS"))
    print("5 processes at 100 Hz: %.2f %% of a core, %s kB" % (100 * cost, memory))
    assert cost < 0.15, "far more than it should cost: something is wrong"
    run.stop()
