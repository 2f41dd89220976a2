# SPDX-License-Identifier: Apache-2.0
"""pystrobe exec: the command runs as if it were alone, and is profiled."""

import json
import os
import signal
import subprocess
import sys

import pytest

import live
import profiles
from doctors import NOBODY

BUSY = """
import os, subprocess, sys, time
def parent_burns(): 
    while time.process_time() < 1: sum(range(1000))
if len(sys.argv) > 1:
    def child_burns():
        while time.process_time() < 1: sum(range(1000))
    child_burns()
else:
    child = subprocess.Popen([sys.executable, __file__, "child"])
    parent_burns()
    child.wait()
"""


def exec_it(pystrobe, tmp_path, *command, **options):
    return pystrobe.run("exec", "--store", tmp_path / "store", "--", *command, **options)


@pytest.mark.parametrize("status", [0, 1, 7, 78, 255])
def test_the_commands_status_is_passed_on(pystrobe, tmp_path, status):
    assert exec_it(pystrobe, tmp_path, "sh", "-c", "exit %d" % status).returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_death_by_a_signal_is_128_and_its_number(pystrobe, tmp_path, number):
    assert exec_it(pystrobe, tmp_path, "sh", "-c", "kill -%d $$" % number).returncode == 128 + number


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126(pystrobe, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("no program")

    assert exec_it(pystrobe, tmp_path, "/nowhere/at-all").returncode == 127
    assert exec_it(pystrobe, tmp_path, plain).returncode == 126


def test_where_no_store_can_be_made_it_names_the_option(pystrobe, tmp_path):
    (tmp_path / "home").write_text("a file, for all users")
    words = NOBODY if os.getuid() == 0 else []

    env = {"HOME": "%s/home" % tmp_path, "PATH": os.environ["PATH"]}
    with subprocess.Popen([*words, pystrobe.path, "exec", "--", "timeout", "60", "cat"], cwd="/", stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env) as run:
        assert any("--store DIR" in line for line in run.stderr)  # it runs until its input ends
        run.stdin.close()
        run.stderr.close()
        assert run.wait(live.DEADLINE_S) == 0


def test_a_server_that_is_not_there_is_told_and_holds_up_the_end_for_two_seconds(pystrobe):
    done = pystrobe.run("exec", "--", sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: sum(range(1000))",
                        env=dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1"))

    assert done.returncode == 0
    assert "1 profile could not be delivered before the end" in done.stderr
    assert "ended by signal" not in done.stderr


@pytest.mark.parametrize("name", ["TERM", "ABRT"])  # the watchdog of systemd sends SIGABRT
def test_signals_reach_the_command(pystrobe, tmp_path, name):
    ready = tmp_path / "ready"
    script = "trap 'exit 42' %s; touch %s; while :; do sleep 0.05; done" % (name, ready)
    process = pystrobe.start("exec", "--store", tmp_path / "store", "--", "sh", "-c", script)
    live.wait_until(ready.exists, "the command is ready")

    process.send_signal(getattr(signal, "SIG" + name))

    assert process.wait(live.DEADLINE_S) == 42


def test_standard_streams_are_the_commands_own(pystrobe, tmp_path):
    done = subprocess.run(pystrobe.words + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--", "cat"],
                          input="through\n", capture_output=True, text=True, timeout=live.DEADLINE_S)

    assert (done.stdout, done.stderr) == ("through\n", "")


BURN = "import time\nwhile time.process_time() < 0.5: sum(range(1000))"


def says_on_a_terminal(pystrobe, *options):
    """What a command that burns some CPU time, and succeeds, makes exec say."""
    ours, its = os.openpty()
    process = pystrobe.start("exec", *options, "-r", "100", "--", sys.executable, "-c", BURN, stderr=its)
    os.close(its)
    assert process.wait(live.DEADLINE_S) == 0
    said = b""
    try:
        while True:
            said += os.read(ours, 65536)
    except OSError:  # nobody has its end
        os.close(ours)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("name,word", [("store", "{}"), ("my store", "'{}'")])
def test_on_a_terminal_it_says_once_where_the_profiles_are(pystrobe, tmp_path, name, word):
    store = tmp_path / name

    said = says_on_a_terminal(pystrobe, "--store", store)

    assert said == "pystrobe: the profiles are in %s: pystrobe report --store %s\n" % (store, word.format(store))


def test_on_a_terminal_it_tells_of_each_exporter_that_has_taken_profiles(pystrobe, tmp_path):
    ini, file = tmp_path / "exec.ini", tmp_path / "there"
    file.write_text("")
    ini.write_text("[agent]\nlog_level = error\n[exporter a]\ntype = file\npattern = %s/{service}-{type}-{start}.pb.gz\n"
                   "[exporter b]\ntype = store\npath = %s\n[exporter c]\ntype = otlp\nurl = http://127.0.0.1:9\n"
                   % (tmp_path, file / "store"))

    said = says_on_a_terminal(pystrobe, "-c", ini)

    assert [line for line in said.splitlines() if "went to" in line or "are in" in line] == [
        "pystrobe: %d profiles went to files %s/{service}-{type}-{start}.pb.gz" % (len(list(tmp_path.glob("*.pb.gz"))), tmp_path)]


VIEW = """
import json, os, signal
print(json.dumps({"mask": [line for line in open("/proc/self/status") if line.startswith(("SigB", "SigI", "SigC", "Shd"))],
                  "fds": sorted(os.listdir("/proc/self/fd")), "env": dict(os.environ),
                  "session": os.getsid(0)}))
"""


def test_the_command_sees_the_same_signals_descriptors_and_environment(pystrobe, tmp_path):
    python = "/usr/bin/python3"
    plain = subprocess.run([python, "-c", VIEW], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    below = exec_it(pystrobe, tmp_path, python, "-c", VIEW)

    assert json.loads(below.stdout) == json.loads(plain.stdout)


def test_the_command_and_its_python_children_are_profiled(pystrobe, tmp_path):
    script = tmp_path / "burner.py"
    script.write_text(BUSY)

    done = exec_it(pystrobe, tmp_path, "/usr/bin/python3", script)

    assert (done.returncode, done.stderr) == (0, "")
    found = profiles.in_store(tmp_path / "store", "burner")
    for function in ("parent_burns", "child_burns"):
        cpu = profiles.total(found, "cpu", lambda sample: any(frame["func"] == function for frame in sample["stack"]))
        assert cpu > 0.2e9, function


def test_the_service_is_named_by_option_environment_or_script(pystrobe, tmp_path):
    sleep = ("/usr/bin/python3", "-c", "import time; time.sleep(3)")
    env = dict(os.environ, OTEL_SERVICE_NAME="from-otel")

    pystrobe.run("exec", "--store", tmp_path / "a", "--service", "mine", "--", *sleep, env=env)
    pystrobe.run("exec", "--store", tmp_path / "b", "--", *sleep, env=env)

    assert os.listdir(tmp_path / "a") == ["mine"]
    assert os.listdir(tmp_path / "b") == ["from-otel"]


PARENT = """
import os, subprocess, sys, time
if os.fork() == 0:
    time.sleep(1)
    os._exit(0)
subprocess.run([sys.executable, "-c", "import time; time.sleep(1)"])
os.wait()
"""


@pytest.mark.parametrize("words", [
    ["{python}", "{script}"],
    ["sh", "-c", "exec {python} {script}"],
    ["sh", "-c", "{python} {script}; true"],
    ["setpriv", "--no-new-privs", "{python}", "{script}"],
    ["env", "A=b", "sh", "-c", "exec env {python} -u {script}"],
    ["{python}", "-c", "import os, time; os.execv('{python}', ['python3', '{script}'])"],
], ids=["itself", "by a shell", "below a shell", "by setpriv", "by several", "by a Python that is gone at once"])
def test_what_starts_the_first_python_does_not_name_it_and_what_it_starts_has_its_name(pystrobe, tmp_path, words):
    script = tmp_path / "shop.py"
    script.write_text(PARENT)

    done = exec_it(pystrobe, tmp_path, *(word.format(python="/usr/bin/python3", script=script) for word in words))

    assert (done.returncode, done.stderr) == (0, "")
    gone = {"python3"} if words[1] == "-c" and words[0] != "sh" else set()  # it may just have been seen
    assert set(os.listdir(tmp_path / "store")) - gone == {"shop"}


def test_programs_that_a_shell_runs_one_after_the_other_have_a_name_each(pystrobe, tmp_path):
    for name in ("migrate", "shop"):
        (tmp_path / (name + ".py")).write_text("import time; time.sleep(1)")

    exec_it(pystrobe, tmp_path, "sh", "-c", "cd %s && /usr/bin/python3 migrate.py; exec /usr/bin/python3 shop.py" % tmp_path)

    assert sorted(os.listdir(tmp_path / "store")) == ["migrate", "shop"]


def test_the_command_runs_even_if_profiles_can_go_nowhere(pystrobe, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")

    done = pystrobe.run("exec", "--store", blocked / "below", "--", "sh", "-c", "exit 5")

    assert done.returncode == 5


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_cannot_be_sampled_is_a_warning_once_for_all_processes(pystrobe, tmp_path):
    others = "setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c 'input()' <&3 & "
    words = ["setpriv", "--bounding-set", "-sys_ptrace", *pystrobe.words, pystrobe.path, "exec", "--log-level", "info",
             "--store", str(tmp_path / "store"), "--", "sh", "-c", "exec 3<&0; %s wait" % (3 * others)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []

    while len(told) < 3:
        line = process.stderr.readline()
        assert line, told
        told += [line] if "not sampled for now" in line else []
    process.communicate("\n\n\n", live.DEADLINE_S)

    assert sorted(line.split()[2] for line in told) == ["info:", "info:", "warning:"]
    assert all("belongs to another user" in line and "CAP_SYS_PTRACE" in line for line in told)


def test_exec_needs_a_command(pystrobe):
    assert pystrobe.run("exec").returncode == 64
