# SPDX-License-Identifier: Apache-2.0
"""libcurl, libmicrohttpd and ncurses are loaded by what uses them, and by nothing else."""

import glob
import os
import re
import subprocess

import pytest

import live
from test_samplers import INI, samplers_of

PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
LIBRARIES = ("libcurl", "libmicrohttpd", "libncursesw")
BURN = "import time\nwhile time.process_time() < 0.5: sum(range(1000))"


def mapped(pid):
    """Those of the libraries that a process has mapped."""
    with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
        text = file.read()
    return [name for name in LIBRARIES if name in text]


def loaded_by(pystrobe, folder, *words):
    """Those of the libraries that the dynamic linker loads in pystrobe and its children."""
    done = subprocess.run([*pystrobe.words, pystrobe.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=live.DEADLINE_S, check=False,
                          env=dict(os.environ, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(folder / "loaded")))
    assert done.returncode == 0, done.stderr
    logs = glob.glob(str(folder / "loaded.*"))
    text = "".join(open(path, encoding="utf-8", errors="replace").read() for path in logs)
    assert re.search(r"calling init: .*/pystrobe|initialize program: .*pystrobe", text), "nothing was logged"
    return [name for name in LIBRARIES if name in text]


@pytest.mark.parametrize("words", [
    ("exec", "--store", "{folder}/store", "--", PYTHON["exe"], "-c", BURN),
    ("record", "-o", "{folder}/out.pb.gz", "--", PYTHON["exe"], "-c", BURN),
    ("record", "-o", "{folder}/out.html", "--", PYTHON["exe"], "-c", BURN),
    ("top", "-n", "1", "--", PYTHON["exe"], "-c", BURN),
    ("config", "--sample"),
], ids=lambda words: " ".join(words[:3]))
def test_what_speaks_with_nobody_loads_none_of_them(pystrobe, tmp_path, words):
    assert loaded_by(pystrobe, tmp_path, *[word.format(folder=tmp_path) for word in words]) == []


def test_dump_loads_none_of_them(pystrobe, start, tmp_path):
    pid = start(PYTHON, "busy.py").read_json()["pid"]

    assert loaded_by(pystrobe, tmp_path, "dump", "--pid", str(pid)) == []


def test_version_loads_libcurl_alone(pystrobe, tmp_path):
    assert loaded_by(pystrobe, tmp_path, "--version") == ["libcurl"]


def test_samplers_have_none_of_them(agent, start, tmp_path):
    target = start(PYTHON, "busy.py", "--duty", 0.05, "--shares", "busy_lib:1")
    run = agent(INI % {"mark": "lib", "store": tmp_path / "store"})
    run.wait_for([target.read_json()["pid"]])

    samplers = samplers_of(run)

    assert samplers and [mapped(pid) for pid in samplers] == [[]] * len(samplers)
    assert mapped(run.process.pid) == ["libcurl"]


def test_without_libmicrohttpd_the_agent_says_what_to_install(agent, tmp_path):
    ini = INI % {"mark": "lib", "store": tmp_path / "store"} + "[http]\nlisten = 127.0.0.1:7997\n"

    run = agent(ini, live.without_library("libmicrohttpd.so.12"))

    line = run.wait_for_line("libmicrohttpd.so.12 cannot be loaded")
    assert "needed by [http] listen; install libmicrohttpd12" in line
    assert run.process.wait(live.DEADLINE_S) == 1
