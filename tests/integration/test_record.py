# SPDX-License-Identifier: Apache-2.0
"""pystrobe record and report: one process or command into a file, and what the file says."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import live
import profiles

RECORDED_NS = 2 * 10**9  # CPU time: some hundred samples that show it running


@pytest.mark.few
def test_a_process_is_recorded_and_every_tool_reads_the_file(python, pystrobe, start, tmp_path):
    target = start(python, "busy.py", "--duty", 0.6, "--shares", "burn_most:70,burn_some:30")
    pid = target.read_json()["pid"]
    bounds = profiles.Bounds([pid])

    process = pystrobe.start("record", "--pid", pid, "-d", "120s", "-r", "200", "-o", tmp_path / "out.pb.gz",
                             stderr=subprocess.DEVNULL)
    bounds.begin(process.pid)
    enough = profiles.cpu_ns(pid) + RECORDED_NS
    live.wait_until(lambda: profiles.cpu_ns(pid) > enough, "it has used enough CPU")
    bounds.at_end()
    process.send_signal(signal.SIGINT)
    bounds.after_end(process.pid)

    assert process.wait(live.DEADLINE_S) == 0
    found = profiles.read(tmp_path / "out.pb.gz")
    assert os.path.basename(found[0]["binary"]).startswith(("python", "libpython")), found[0]["binary"]
    assert profiles.is_within(profiles.total(found, "cpu"), bounds.cpu(pid), 0.03)
    shares = {name: profiles.total(found, "cpu", lambda s: s["stack"] and s["stack"][0]["func"] == name)
              for name in ("burn_most", "burn_some")}
    assert shares["burn_most"] > 1.2 * shares["burn_some"] > 0  # 70 to 30, if it was always seen
    assert target.end() == 0, "the program was harmed"


def test_a_process_that_execs_is_one_process(pystrobe, tmp_path):
    burn = "import os, sys, time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: sum(range(500))\n" \
           "left = int(sys.argv[2])\nif left: os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], sys.argv[1], str(left - 1)])"
    done = pystrobe.run("record", "-o", tmp_path / "out.pb.gz", "--", "/usr/bin/python3", "-c", burn, burn, 3)

    assert done.returncode == 0
    assert " samples of 1 process in" in done.stderr


def test_go_tool_pprof_and_protoc_read_a_recording(pystrobe, tmp_path):
    out = tmp_path / "out.pb.gz"
    burn = "import time\ndef burn():\n while time.process_time() < 1.5: sum(range(500))\nburn()"
    assert pystrobe.run("record", "-o", out, "--", "/usr/bin/python3", "-c", burn).returncode == 0

    top = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=cpu", str(out)],
                         capture_output=True, text=True, timeout=120)
    plain = subprocess.run(["gzip", "-dc", str(out)], capture_output=True, check=True).stdout
    text = subprocess.run(["protoc", "-I", live.TREE, "--decode=perftools.profiles.Profile", "pprof/profile.proto"],
                          input=plain, capture_output=True, cwd=live.TREE, timeout=60)

    assert (top.returncode, top.stderr) == (0, "")  # not: Main binary filename not available
    assert "burn" in top.stdout and "<module>" in top.stdout
    found = profiles.read(out)[0]
    assert os.path.basename(found["binary"]).startswith(("python3", "libpython3"))
    notes = subprocess.run(["readelf", "-n", found["binary"]], capture_output=True, text=True, timeout=60)
    assert found["build_id"] == re.search("Build ID: ([0-9a-f]+)", notes.stdout).group(1)
    assert "File: %s\nBuild ID: %s\n" % (os.path.basename(found["binary"]), found["build_id"]) in top.stdout
    assert text.returncode == 0 and b'string_table: "burn"' in text.stdout


def test_the_commands_status_is_passed_on(pystrobe, tmp_path):
    code = "import time, sys; time.sleep(2); sys.exit(9)"

    done = pystrobe.run("record", "-o", tmp_path / "o.pb.gz", "--", "/usr/bin/python3", "-c", code)

    assert done.returncode == 9
    assert (tmp_path / "o.pb.gz").exists()


def test_ctrl_c_keeps_what_is_there(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]
    bounds = profiles.Bounds([pid])
    process = pystrobe.start("record", "--pid", pid, "-d", "120s", "-o", tmp_path / "o.pb.gz", stderr=subprocess.PIPE)
    bounds.begin(process.pid)
    time.sleep(1.5)
    bounds.at_end()

    process.send_signal(signal.SIGINT)
    bounds.after_end(process.pid)

    assert process.wait(live.DEADLINE_S) == 0
    found = profiles.read(tmp_path / "o.pb.gz")
    assert profiles.total(found, "samples") > 0
    assert profiles.is_within(profiles.total(found, "wall") / 3, bounds.wall(pid), 0.03)  # three threads


def test_the_targets_death_keeps_what_is_there(pystrobe, start, tmp_path):
    target = start(live.load_pythons()[0][0], "busy.py")
    pid = target.read_json()["pid"]
    process = pystrobe.start("record", "--pid", pid, "-d", "600s", "-o", tmp_path / "o.pb.gz", stderr=subprocess.DEVNULL)
    bounds = profiles.Bounds([pid])
    bounds.begin(process.pid)
    time.sleep(1.5)
    bounds.at_end()
    least_ns = bounds.last_wall(pid)

    target.end()

    assert process.wait(live.DEADLINE_S) == 0
    found = profiles.read(tmp_path / "o.pb.gz")
    assert profiles.total(found, "samples") > 0
    assert profiles.total(found, "wall") / 3 > 0.95 * least_ns  # three threads


def test_threads_are_told_apart_on_request(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py", "--threads", 2).read_json()["pid"]

    pystrobe.run("record", "--split", "thread", "--pid", pid, "-d", "1s", "-o", tmp_path / "o.pb.gz")

    samples = profiles.read(tmp_path / "o.pb.gz")[0]["samples"]
    names = {str(sample["labels"].get("thread name")).strip("[]'") for sample in samples}
    assert {"burner-0", "burner-1", "MainThread"} <= names


@pytest.mark.few
def test_statistics_are_those_of_the_recording(python, pystrobe, start, tmp_path):
    pid = start(python, "busy.py", "--threads", 2).read_json()["pid"]

    done = pystrobe.run("record", "--stats=json", "--pid", pid, "-d", "1s", "-r", "200", "-o", tmp_path / "o.pb.gz")

    assert done.returncode == 0, done.stderr
    stats = live.stats_in(done.stderr)
    unwinder = stats["unwinder"]
    assert stats["processes"] == 1 and 0 < stats["samples"] < 250 and stats["samples"] + stats["missed"] > 100
    # The main thread, the one that waits for input, and two burners; the first sample has no time to give.
    assert unwinder["threads"] <= stats["samples"] * 4
    taken = profiles.total(profiles.read(tmp_path / "o.pb.gz"), "samples")
    # A sample also stands for ticks that were missed before it.
    assert -4 * stats["missed"] <= unwinder["threads"] - taken <= 8, "each stack that was read is in the profile, but for the first"
    assert unwinder["reads"] >= stats["samples"] - stats["failed"]["raced"]
    assert unwinder["bytes"] > unwinder["reads"] and unwinder["codes_read"] > 3


def test_statistics_for_people_explain_every_counter(pystrobe, tmp_path):
    burn = "import time\nend=time.monotonic()+1\nwhile time.monotonic()<end: sum(range(500))"
    words = ["-o", tmp_path / "o.pb.gz", "--", "/usr/bin/python3", "-c", burn]

    text = pystrobe.run("record", "--stats", *words).stderr
    machine = live.stats_in(pystrobe.run("record", "--stats=json", *words).stderr)

    rows = {line.split()[2]: line.split() for line in text.splitlines() if re.match(r" *\d+ +\d+\.\d\d  \w", line)}
    assert set(rows) == set(machine["unwinder"])
    assert all(len(row) > 4 for row in rows.values()), "a counter without a text"
    assert pystrobe.run("record", *words).stderr.count("\n") == 3, "statistics nobody asked for"


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.timing  # strace and the sanitizers do not get along
def test_recording_one_process_looks_at_no_other(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]
    trace = tmp_path / "trace"

    done = subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", str(trace), pystrobe.path, "record",
                           "--pid", str(pid), "-d", "1s", "-o", str(tmp_path / "o.pb.gz")], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    opened = re.findall(r'"/proc/(\d+)[/"]', trace.read_text())
    assert opened and set(opened) == {str(pid)}


def await_turns(pid):
    """Waits until a recording has woken up some times more, as it does for each sample."""
    before = live.turns_of(pid, pid)
    live.wait_until(lambda: live.turns_of(pid, pid) > before + 20, "it takes samples")


def test_the_closing_line_says_what_was_dropped_and_why(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]
    bounds = profiles.Bounds([pid])
    process = pystrobe.start("record", "--pid", pid, "-d", "600s", "-r", "100", "-o", tmp_path / "o.pb.gz",
                             stderr=subprocess.PIPE, text=True)
    bounds.begin(process.pid)
    await_turns(process.pid)

    process.send_signal(signal.SIGSTOP)
    time.sleep(0.8)  # or longer
    process.send_signal(signal.SIGCONT)
    await_turns(process.pid)
    process.send_signal(signal.SIGINT)
    closing = process.communicate(timeout=live.DEADLINE_S)[1]

    match = re.search(r"(\d+) samples of 1 process in (\d+\.\d) s, dropped: (\d+) ticks missed", closing)
    assert match, closing
    samples, seconds, missed = int(match.group(1)), float(match.group(2)), int(match.group(3))
    assert missed > 50
    assert 0.8 * 100 * seconds - 20 < samples + missed < 1.2 * 100 * seconds + 20  # a tick is either


def test_what_is_no_python_or_not_there_is_said(pystrobe, tmp_path):
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        no_python = pystrobe.run("record", "--pid", sleeper.pid, "-d", "3s", "-o", tmp_path / "o.pb.gz")
        dump = pystrobe.run("dump", "--pid", sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()
    gone = pystrobe.run("dump", "--pid", sleeper.pid)
    unrecorded = pystrobe.run("record", "--pid", sleeper.pid, "-o", tmp_path / "o.pb.gz")
    unnamed = pystrobe.run("record", "--target", "no-such-app", "-d", "1s", "-o", tmp_path / "o.pb.gz")
    command = pystrobe.run("record", "-o", tmp_path / "o.pb.gz", "--", "sleep", "0.1")

    assert no_python.returncode == 69 and "runs no CPython" in no_python.stderr
    assert dump.returncode == 69 and "runs no CPython" in dump.stderr
    assert gone.returncode == 69 and "no such process" in gone.stderr
    assert unrecorded.returncode == 69 and "no such process" in unrecorded.stderr
    assert unnamed.returncode == 69 and "'no-such-app'" in unnamed.stderr
    assert command.returncode == 69 and "'sleep' ran no Python" in command.stderr
    assert not (tmp_path / "o.pb.gz").exists()


def test_a_file_that_cannot_be_written_is_found_out_before_anything_runs(pystrobe, tmp_path):
    output, mark = tmp_path / "none" / "o.html", tmp_path / "mark"

    done = pystrobe.run("record", "-o", output, "--", "touch", mark)

    assert done.returncode == 1 and "none/o.html: No such file or directory" in done.stderr
    assert not mark.exists()


@pytest.mark.skipif(not shutil.which("setpriv") or os.geteuid() != 0, reason="needs root and setpriv")
def test_a_process_of_another_user_is_refused_with_the_cure(open_pystrobe, start):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]

    for words in (["dump"], ["record", "-o", "-"]):
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", open_pystrobe.path, *words, "--pid", str(pid)],
                              capture_output=True, text=True)

        assert (done.returncode, done.stdout) == (77, ""), words
        assert "belongs to another user" in done.stderr and "CAP_SYS_PTRACE" in done.stderr


@pytest.mark.parametrize("words", [["record"], ["record", "--pid", "x"], ["record", "-r", "50000", "--pid", "1"],
                                   ["record", "--pid", "1", "--", "true"], ["record", "--stats=xml", "--pid", "1"],
                                   ["record", "--mode", "cpu,", "--pid", "1"], ["record", "--mode", "wait", "--pid", "1"],
                                   ["record", "--threads", "gil", "--pid", "1"], ["record", "--split", "all", "--pid", "1"],
                                   ["record", "--async-aware", "none", "--pid", "1"],
                                   ["record", "--async-aware", "all", "--threads", "main", "--pid", "1"],
                                   ["dump"], ["dump", "--pid", "0"],
                                   ["nonsense"], ["agent"], []])
def test_wrong_words_are_usage_errors(pystrobe, words):
    done = pystrobe.run(*words)

    assert done.returncode == 64
    assert done.stderr and not done.stdout


@pytest.mark.parametrize("command", ["agent", "exec", "record", "top", "dump", "report", "config"])
def test_every_command_has_help_with_an_example(pystrobe, command):
    done = pystrobe.run(command, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Example" in done.stdout and "pystrobe %s" % command in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 96


def test_report_shows_the_hottest_function(pystrobe, tmp_path):
    burn = "import time\ndef very_hot():\n while time.process_time() < 1: sum(range(500))\nvery_hot()"
    pystrobe.run("record", "-o", tmp_path / "o.pb.gz", "--", "/usr/bin/python3", "-c", burn)

    done = pystrobe.run("report", tmp_path / "o.pb.gz")

    assert done.returncode == 0
    assert "very_hot" in done.stdout.splitlines()[3]
    assert "\x1b" not in done.stdout


def test_a_command_that_outlives_its_recording_is_told_of(pystrobe, tmp_path):
    burn = "while True: sum(range(500))"
    process = pystrobe.start("record", "-d", "1s", "-o", tmp_path / "o.pb.gz", "--", "/usr/bin/python3", "-c", burn,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    told = []
    for line in process.stderr:
        told.append(line)
        match = re.search(r"the command runs on, as process (\d+), and pystrobe waits for it; kill \1 ends both", line)
        if match:
            break
    assert "pystrobe: wrote %s" % (tmp_path / "o.pb.gz") in "".join(told)
    os.kill(int(match.group(1)), signal.SIGTERM)
    process.communicate(timeout=live.DEADLINE_S)
    assert process.returncode == 128 + signal.SIGTERM
