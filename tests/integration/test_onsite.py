# SPDX-License-Identifier: Apache-2.0
"""Programs that are sampled often are read in an interrupt of them, where we may; nobody keeps the rights for that."""

import json
import os
import sys

import pytest

import live
import profiles

sys.path.insert(0, os.path.join(live.TESTS, "truth"))
import session  # noqa: E402
sys.path.insert(0, os.path.join(live.TESTS, "bench"))
import sides  # noqa: E402
import straced  # noqa: E402

pytestmark = pytest.mark.alone  # how much is read on site depends on what else the CPUs have to do

BUILD = os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build"))
RATE, SECONDS = 1000, 1
WALK_TRIES = 16  # of a stack that moves while it is read from another CPU
CAP_PERFMON, CAP_BPF = 38, 39
GIL_TELLS_FROM = (3, 12)
AT_START = 1500  # reads, at most, until all is known that is read again and again

INI = """
[agent]
rate = %(rate)dHz
interval = 1s
scan = 200ms
control = %(dir)s/c.sock
[target busy]
cmdline = busy\\.py.* %(mark)s:
service = busy
[exporter out]
type = store
path = %(dir)s/store
"""


@pytest.fixture(autouse=True)
def needs_the_kernel():
    if not session.is_possible("onsite", BUILD):
        pytest.skip("needs two CPUs, CAP_BPF, CAP_PERFMON and Linux 5.10")


def record(pystrobe, pid, path, *words):
    """Gives what a recording says of itself."""
    done = pystrobe.run("record", "--stats=json", "--pid", pid, "-o", path, *words)
    assert done.returncode == 0, done.stderr
    return live.stats_in(done.stderr)


@pytest.mark.timing
@pytest.mark.few
def test_a_busy_program_is_read_in_an_interrupt_of_it(python, pystrobe, start, tmp_path):
    pid = start(python, "busy.py", "--duty", 1, "--shares", "burn_here:1").read_json()["pid"]
    live.run_at_once(pid)  # who waits for a CPU cannot be interrupted on one

    stats = record(pystrobe, pid, tmp_path / "o.pb.gz", "-r", str(RATE), "-d", "%ds" % SECONDS)

    unwinder, recorded = stats["unwinder"], profiles.read(tmp_path / "o.pb.gz")
    assert stats["samples"] + stats["missed"] > RATE * SECONDS / 2
    # Most of them; how many exactly depends on who else wants its CPU. Where it does not work there is none.
    assert unwinder["onsite"] > 0.5 * stats["samples"], unwinder
    # Only what was not read at one moment may be torn. (What was read before the first sample counts as on site, too.)
    elsewhere = max(0, stats["samples"] - unwinder["onsite"])
    assert unwinder["torn"] <= elsewhere and unwinder["retries"] < 0.05 * stats["samples"] + WALK_TRIES * elsewhere, unwinder
    if sides.version_of(python) >= GIL_TELLS_FROM:  # before that threads are listed in each sample
        assert unwinder["reads"] < 1.1 * stats["samples"] + AT_START
    cpu = profiles.total(recorded, "cpu")
    burns = profiles.total(recorded, "cpu", lambda sample: any(frame["func"] == "burn_here" for frame in sample["stack"]))
    assert burns > 0.9 * cpu > 0.5 * SECONDS * 1e9


@pytest.mark.timing
@pytest.mark.few
def test_a_program_that_mostly_sleeps_is_seldom_interrupted(python, pystrobe, start, tmp_path):
    pid = start(python, "busy.py", "--duty", 0.02, "--cycle-ms", 50).read_json()["pid"]

    stats = record(pystrobe, pid, tmp_path / "o.pb.gz", "-r", str(RATE), "-d", "%ds" % SECONDS)

    assert stats["unwinder"]["onsite"] < 0.2 * stats["samples"], stats["unwinder"]


@pytest.mark.timing
@pytest.mark.few
def test_a_program_that_goes_from_cpu_to_cpu_is_found_there(python, pystrobe, start, tmp_path):
    said = start(python, "busy.py", "--duty", 1).read_json()
    live.run_at_once(said["pid"])

    with session.moved(said["tids"][0]):
        stats = record(pystrobe, said["pid"], tmp_path / "o.pb.gz", "-r", str(RATE), "-d", "%ds" % SECONDS)

    unwinder = stats["unwinder"]
    assert unwinder["onsite"] > 0.3 * stats["samples"], unwinder
    # A loaded machine gives it few samples: one or two of them may be torn by chance.
    assert unwinder["torn"] <= 2 + 0.005 * stats["samples"], unwinder


@pytest.mark.few
def test_slow_recordings_and_those_without_rights_load_nothing(python, pystrobe, start, tmp_path):
    pid = start(python, "busy.py").read_json()["pid"]
    without = live.Pystrobe(pystrobe.path)
    without.words += ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"]  # which has them all

    slow = record(pystrobe, pid, tmp_path / "o.pb.gz", "-r", "99", "-d", "1s")
    weak = record(without, pid, tmp_path / "p.pb.gz", "-r", "500", "-d", "1s")

    assert slow["unwinder"]["onsite"] == 0 and slow["samples"] > 0 and slow["samples"] + slow["missed"] > 50
    assert weak["unwinder"]["onsite"] == 0 and weak["samples"] > 0 and weak["samples"] + weak["missed"] > 250


@pytest.mark.timing
@pytest.mark.few
def test_nothing_is_written_stopped_or_signalled_on_site_either(python, start, trace_recording):
    pid = start(python, "busy.py", "--duty", 1).read_json()["pid"]

    text = trace_recording(pid, RATE, SECONDS, "-f")[1]

    commands = {rest.split(",")[0].lstrip("(") for name, rest in straced.calls_of(text) if name == "bpf"}
    assert "BPF_PROG_LOAD" in commands
    assert commands <= {"BPF_BTF_LOAD", "BPF_MAP_CREATE", "BPF_PROG_LOAD", "BPF_PROG_TEST_RUN"}
    assert straced.forbidden_in(text) == []


def capabilities_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        words = dict(line.split(":\t", 1) for line in file.read().splitlines() if line.startswith("Cap"))
    return int(words["CapPrm"], 16) | int(words["CapEff"], 16) | int(words["CapInh"], 16)


@pytest.mark.timing
@pytest.mark.few
def test_samplers_read_on_site_and_have_given_up_the_rights_for_it(python, pystrobe, agent, start, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("the agent itself has to have the rights")
    mark = "on_site_%d" % os.getpid()
    pid = start(python, "busy.py", "--duty", 1, "--shares", mark + ":1").read_json()["pid"]

    live.run_at_once(pid)
    run = agent(INI % {"rate": 200, "dir": tmp_path, "mark": mark})
    run.wait_for([pid])

    def counted():
        done = pystrobe.run("status", "--json", "--socket", tmp_path / "c.sock")
        return done.returncode == 0 and json.loads(done.stdout)["counts"]["unwinder"]["onsite"] > 200

    live.wait_until(counted, "samples are taken on site")
    samplers = [child for child in live.children_of(run.process.pid) if capabilities_of(child) >> 19 & 1]
    assert samplers, "no child may read other processes"
    for sampler in samplers:
        assert capabilities_of(sampler) & (1 << CAP_BPF | 1 << CAP_PERFMON) == 0
