# SPDX-License-Identifier: Apache-2.0
"""pystrobe check and pystrobe agent --dry-run: what an ini file would come to, without anything being done."""

import os
import subprocess
import sys

import live

PYTHON = "/usr/bin/python3"
WAITS = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


def test_a_good_file_is_0_and_silent(pystrobe, tmp_path):
    ini = tmp_path / "good.ini"
    ini.write_text("[exporter x]\ntype = pyroscope\nurl = http://127.0.0.1:1\n")

    done = pystrobe.run("check", "-c", ini)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_all_mistakes_are_told_and_78(pystrobe, tmp_path):
    ini = tmp_path / "bad.ini"
    ini.write_text("[agent]\nrate = never\ninterval = 0\n[exporter x]\ntype = nothing\n")

    done = pystrobe.run("check", "-c", ini)

    assert done.returncode == 78
    assert ["%s:%d" % (ini, line) in done.stderr for line in (2, 3, 5)] == [True] * 3
    assert pystrobe.run("check", "-c", tmp_path / "missing.ini").returncode == 78


def test_files_that_exporters_name_and_variables_are_of_the_environment(pystrobe, tmp_path):
    ini = tmp_path / "names.ini"
    ini.write_text("[exporter x]\ntype = pyroscope\nurl = https://127.0.0.1:1\nca_file = /nowhere/ca.pem\n")

    with_files = pystrobe.run("check", "-c", ini)
    alone = pystrobe.run("check", "--no-environment", "-c", ini, env=dict(os.environ, PYSTROBE_AGENT_RATE="never"))

    assert with_files.returncode == 78 and "/nowhere/ca.pem" in with_files.stderr
    assert (alone.returncode, alone.stderr) == (0, "")


def test_check_makes_nothing(pystrobe, tmp_path):
    ini = tmp_path / "store.ini"
    ini.write_text("[agent]\nspool = %s/spool\n[exporter x]\ntype = store\npath = %s/store\n" % (tmp_path, tmp_path))

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
    assert "no [target] section is for it" in lines[other[1]]
    assert "PYSTROBE_DISABLE" in lines[closed[1]]
    assert shell[1] not in lines and "processes that run no Python: " in rest
    assert os.listdir(tmp_path) == ["dry.ini"]
