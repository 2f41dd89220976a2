# SPDX-License-Identifier: Apache-2.0
"""pystrobe check and pystrobe agent --dry-run: what an ini file would come to, without anything being done."""

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

import live
from doctors import NOBODY, PYTHON, WAITS, needs_root, running
from loopback import Loopback
from test_doctor_places import Handler


def test_a_good_file_is_0_and_silent(pystrobe, tmp_path):
    ini = tmp_path / "good.ini"
    ini.write_text("[exporter x]\ntype = pyroscope\nurl = http://127.0.0.1:1\n")

    done = pystrobe.run("check", "-c", ini)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_servers_are_tried_where_that_is_asked_for(pystrobe, tmp_path):
    page = type("Page", (Handler,), {"type": "text/html", "words": b"<html>"})
    with Loopback(Handler) as good, Loopback(page) as bad:
        ini = tmp_path / "servers.ini"
        ini.write_text("[exporter x]\ntype = pyroscope\nurl = %s\n" % good.url)
        fine = pystrobe.run("check", "-c", ini, "--servers")
        ini.write_text("[exporter x]\ntype = pyroscope\nurl = %s\n" % bad.url)
        unasked, asked = pystrobe.run("check", "-c", ini), pystrobe.run("check", "-c", ini, "--servers")
        both = pystrobe.run("check", "-c", ini, "--servers", "--no-environment")

    assert fine.returncode == 0 and "login and path are fine (200)" in fine.stdout
    assert (unasked.returncode, unasked.stdout) == (0, "")
    assert asked.returncode == 1 and "it is not a server of this type: the server answered 200 with text/html" in asked.stdout
    assert both.returncode == 64 and "exclude each other" in both.stderr


def test_all_mistakes_are_told_and_78(pystrobe, tmp_path):
    ini = tmp_path / "bad.ini"
    ini.write_text("[agent]\nrate = never\ninterval = 0\n[exporter x]\ntype = nothing\n")

    done = pystrobe.run("check", "-c", ini)

    assert done.returncode == 78
    assert ["%s:%d" % (ini, line) in done.stderr for line in (2, 3, 5)] == [True] * 3
    assert pystrobe.run("check", "-c", tmp_path / "missing.ini").returncode == 78


@pytest.mark.parametrize("wrong", ["[http]\nlisten = *:7997", "[http]\nlisten = 127.0.0.1:99999",
                                   "[agent]\nspool = /", "[agent]\nspool = /../", "[agent]\ncontrol = /" + 110 * "x", "[http]\nlisten = /" + 110 * "x"])
def test_the_agent_refuses_what_check_refuses_with_78_so_that_no_service_tries_again(pystrobe, tmp_path, wrong):
    ini = tmp_path / "wrong.ini"
    ini.write_text(wrong + "\n[exporter x]\ntype = store\npath = %s/store\n" % tmp_path)

    checked, ran, doctor = [pystrobe.run(command, "-c", ini) for command in ("check", "agent", "doctor")]

    assert checked.returncode == ran.returncode == 78
    assert "%s:2: " % ini in doctor.stdout + doctor.stderr
    assert "%s:2: " % ini in checked.stderr and checked.stderr == ran.stderr


@pytest.mark.parametrize("before", ["", ":", "localhost:"])
def test_a_port_without_an_address_is_of_the_loopback(agent, tmp_path, before):
    port, = live.free_ports(1)

    agent("[http]\nlisten = %s%d\n[exporter x]\ntype = store\npath = %s/store\n" % (before, port, tmp_path))

    def answers():
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    live.wait_until(answers, "nothing listens")


def test_files_that_exporters_name_and_variables_are_of_the_environment(pystrobe, tmp_path):
    ini = tmp_path / "names.ini"
    ini.write_text("[exporter x]\ntype = pyroscope\nurl = https://127.0.0.1:1\nca_file = /nowhere/ca.pem\n")

    with_files = pystrobe.run("check", "-c", ini)
    alone = pystrobe.run("check", "--no-environment", "-c", ini, env=dict(os.environ, PYSTROBE_AGENT_RATE="never"))

    assert with_files.returncode == 1 and "/nowhere/ca.pem" in with_files.stderr  # it may come: no mistake in the text
    assert with_files.stderr.count("exporter x") == 1
    assert (alone.returncode, alone.stderr) == (0, "")


@pytest.mark.parametrize("kind, path, more", [("otlp", "v1development/profiles", ""),
                                              ("pyroscope", "push.v1.PusherService/Push", ""),
                                              ("pyroscope", "ingest", "legacy = ingest\n")])
def test_a_url_that_has_the_path_of_the_protocol_is_told_and_no_mistake(pystrobe, tmp_path, kind, path, more):
    ini = tmp_path / "path.ini"

    def check(url):
        ini.write_text("[exporter x]\ntype = %s\nurl = %s\n%s" % (kind, url, more))
        done = pystrobe.run("check", "-c", ini)
        assert done.returncode == 0 and "http:" not in done.stderr
        return done.stderr

    for end in ("", "/"):
        assert "exporter x: url ends in /%s, which pystrobe adds itself: remove that" % path in check(
            "http://127.0.0.1:1/base/%s%s" % (path, end))
    assert check("http://127.0.0.1:1/my" + path) == check("http://127.0.0.1:1/%s/base" % path) == ""


PLACES = {"spool": "[agent]\nspool = %s\n", "control": "[agent]\ncontrol = %s\n", "listen": "[http]\nlisten = %s\n",
          "exporter x": "[exporter x]\ntype = store\npath = %s\n",
          "exporter y": "[exporter y]\ntype = file\npattern = %s/{service}\n"}


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("below", ["", "/x", "/x/y"])
def test_a_file_in_the_way_is_told_by_check_doctor_and_agent(pystrobe, agent, tmp_path, key, below):
    ini, wrong = tmp_path / "way.ini", tmp_path / "way"
    wrong.write_text("a file")
    text = PLACES[key] % (str(wrong) + below)
    ini.write_text(text)
    cure = "; name another path"

    checked, doctor = pystrobe.run("check", "-c", ini), pystrobe.run("doctor", "-c", ini)
    run = agent(text)
    told = run.wait_for_line(cure)

    line, = checked.stderr.splitlines()
    assert checked.returncode == doctor.returncode == 1
    assert line.startswith("pystrobe: %s: %s" % (key, wrong)) and line.endswith(cure)
    assert line.partition(": %s" % wrong)[2] in told
    assert re.search("^FAIL  %s +%s.*%s$" % (key, wrong, cure), doctor.stdout, re.M)
    assert sorted(os.listdir(tmp_path)) == sorted({"way", "way.ini"} | {run.ini.name})


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("path", ["/proc/x", "/sys/x/y"])
def test_a_path_where_the_kernel_takes_no_files_is_told_by_check_and_doctor(pystrobe, tmp_path, key, path):
    ini = tmp_path / "kernel.ini"
    ini.write_text(PLACES[key] % path)

    checked, doctor = pystrobe.run("check", "-c", ini), pystrobe.run("doctor", "-c", ini)

    assert checked.returncode == doctor.returncode == 1
    told = r"%s[\w/]*: .*; name another path" % path[:4]  # of a socket, its directory is named
    assert re.fullmatch("pystrobe: %s: %s\n" % (key, told), checked.stderr)
    assert re.search("^FAIL  %s +%s$" % (key, told), doctor.stdout, re.M)


# 192.0.2.0/24 is for documentation (RFC 5737): no host has an address of it.
def test_an_address_that_the_host_has_not_is_told_by_check_doctor_and_agent(pystrobe, tmp_path):
    ini = tmp_path / "address.ini"
    ini.write_text(PLACES["listen"] % "192.0.2.7:7997")

    checked, doctor, ran = (pystrobe.run(command, "-c", ini) for command in ("check", "doctor", "agent"))

    told = "no network interface of this host has that address: name one of its own, or 0.0.0.0 or [::] for all"
    assert checked.returncode == doctor.returncode == ran.returncode == 1
    assert all(told in text for text in (checked.stderr, doctor.stdout, ran.stderr))


def test_a_number_that_no_user_can_have_is_no_user(pystrobe, tmp_path):
    ini = tmp_path / "numbers.ini"
    numbers = ["-1", "4294967295", "99999999999999999999"]
    ini.write_text("".join("[target t%d]\nuser = %s\n" % (i, number) for i, number in enumerate(numbers)))

    checked = pystrobe.run("check", "-c", ini)

    assert all("there is no user %s, so it selects no process" % number in checked.stderr for number in numbers)
    assert checked.returncode == 0


@pytest.mark.parametrize("key", ["control", "listen"])
def test_a_socket_whose_directories_are_absent_is_told_unless_the_agent_makes_its_own(pystrobe, tmp_path, key):
    ini = tmp_path / "absent.ini"
    ini.write_text(PLACES[key] % (tmp_path / "a/b/sock"))
    checked, ran = pystrobe.run("check", "-c", ini), pystrobe.run("agent", "-c", ini)
    ini.write_text(PLACES[key] % (tmp_path / "a/sock"))

    told = "%s/a/b/sock: there is no directory %s/a: make it, or name another path" % (tmp_path, tmp_path)
    assert checked.returncode == ran.returncode == 1
    assert checked.stderr == "pystrobe: %s: %s\n" % (key, told) and told in ran.stderr
    assert pystrobe.run("check", "-c", ini).returncode == 0


def test_a_user_that_does_not_exist_is_a_warning_of_check_doctor_and_agent(pystrobe, agent, tmp_path):
    ini = tmp_path / "user.ini"
    text = ("[target a]\nuser = no-such-user\n[target b]\nuser = root\nexclude_user = nor-this-one\n"
            "[target c]\nuser = 4242\n[exporter x]\ntype = store\npath = %s/store\n" % tmp_path)
    ini.write_text(text)
    first = "[target a] user: there is no user no-such-user, so it selects no process; "
    second = "[target b] exclude_user: there is no user nor-this-one, so it leaves out no process; "

    checked, doctor = pystrobe.run("check", "-c", ini), pystrobe.run("doctor", "-c", ini)
    run = agent(text)

    assert checked.returncode == 0 and checked.stderr.count("warning: ") == 2
    assert all("warning: " + one in checked.stderr for one in (first, second))
    assert len(re.findall(r"^note  \[target .\] (?:exclude_)?user .*there is no user", doctor.stdout, re.M)) == 2
    assert "warning: " + first in run.wait_for_line("no-such-user")
    assert "warning: " + second in run.wait_for_line("nor-this-one")
    run.process.send_signal(signal.SIGHUP)
    run.wait_for_line("reloaded")
    live.wait_until(lambda: len([line for line in run.log if "no-such-user" in line]) == 2, "no warning after a reload")
    assert pystrobe.run("check", "--no-environment", "-c", ini).stderr == ""


def test_check_makes_nothing(pystrobe, tmp_path):
    ini = tmp_path / "store.ini"
    ini.write_text("[agent]\nspool = %s/spool\n[exporter x]\ntype = store\npath = %s/store\n"
                   "[exporter y]\ntype = file\npattern = %s/files/{service}\n" % (tmp_path, tmp_path, tmp_path))

    assert pystrobe.run("check", "-c", ini).returncode == 0
    assert os.listdir(tmp_path) == ["store.ini"]


def test_a_dry_run_tells_what_would_be_sampled_and_why_not(pystrobe, tmp_path):
    ini = tmp_path / "dry.ini"
    ini.write_text("[agent]\nspool = %s/spool\ncontrol = %s/control\n"
                   "[exporter x]\ntype = store\npath = %s/store\n"
                   "[target mine]\ncmdline = wanted-by-%d\nservice = shop\nlabel.team = blue\nrate = 49Hz\n"
                   % (tmp_path, tmp_path, tmp_path, os.getpid()))
    mark = "wanted-by-%d" % os.getpid()

    def start(*words, **env):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, **env))
        return process, int(process.stdout.readline())

    wanted, other, closed, shell = (start(PYTHON, "-c", WAITS, mark), start(PYTHON, "-c", WAITS),
                                    start(PYTHON, "-c", WAITS, mark, PYSTROBE_DISABLE="1"),
                                    start("sh", "-c", "echo $$; read line"))
    try:
        done = pystrobe.run("agent", "-c", ini, "--dry-run")
    finally:
        for process, _ in (wanted, other, closed, shell):
            process.communicate(timeout=live.DEADLINE_S)

    assert (done.returncode, done.stderr) == (0, "")
    sampled, _, rest = done.stdout.partition("Pythons that would not")
    lines = {int(line.split()[0]): line for line in done.stdout.splitlines() if line.split()[0].isdigit()}
    assert sampled.startswith("would be sampled: 1\n")
    version = "%d.%d" % sys.version_info[:2] if sys.executable == PYTHON else "3."
    assert "Python " + version in lines[wanted[1]] and "49Hz  shop" in lines[wanted[1]]
    assert "team=blue" in lines[wanted[1]] and str(wanted[1]) in sampled
    assert "no [target] section is for it: [target mine] wants another cmdline" in lines[other[1]]
    assert "PYSTROBE_DISABLE" in lines[closed[1]]
    assert shell[1] not in lines and "processes that run no Python: " in rest
    assert os.listdir(tmp_path) == ["dry.ini"]


def test_a_dry_run_tells_which_condition_of_which_section_keeps_a_process_off(pystrobe, tmp_path):
    ini = tmp_path / "dry.ini"
    ini.write_text("[agent]\nspool = off\nenv_allow = APP\n[target one]\nexe = *\nexclude_cmdline = -c\n"
                   "[target two]\nuser = 4242\n[target three]\nenv.APP = shop\n[target four]\nparent = no-such-one\n")
    process = subprocess.Popen([PYTHON, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(process.stdout.readline())

    try:
        done = pystrobe.run("agent", "-c", ini, "--dry-run")
    finally:
        process.communicate(timeout=live.DEADLINE_S)

    assert done.returncode == 0
    line = next(one for one in done.stdout.splitlines() if one.split()[0] == str(pid))
    assert line.endswith("[target one] excludes its cmdline, [target two] wants another user, "
                         "[target three] wants another environment, [target four] wants another parent")


@needs_root
def test_a_dry_run_tells_what_stops_it_from_reading_a_process_that_it_wants(open_pystrobe, open_folder):
    ini = open_folder / "dry.ini"
    ini.write_text("[agent]\nspool = off\n[target all]\nexe = *\ncmdline = .\n")

    with running(PYTHON, "-c", WAITS) as pid:
        done = subprocess.run([*NOBODY, *open_pystrobe.words, open_pystrobe.path, "agent", "-c", ini, "--dry-run"],
                              stdout=subprocess.PIPE, text=True, timeout=live.DEADLINE_S, check=True)

    line = next(one for one in done.stdout.splitlines() if one.split()[0] == str(pid))
    assert "it belongs to another user; run pystrobe as root" in line
