# SPDX-License-Identifier: Apache-2.0
"""pystrobe bundle: all that somebody who is to help has to know; that no secret is in it, test_secrets.py sees."""

import os
import re
import stat

PARTS = ["pystrobe --version", "pystrobe check", "pystrobe config", "pystrobe doctor", "pystrobe status", "pystrobe spool",
         "uname", "cat /etc/os-release", "cat /proc/self/limits", "cat /proc/self/status", "journalctl"]


def test_all_parts_are_there_whatever_fails(pystrobe, tmp_path):
    ini, bundle = tmp_path / "bad.ini", tmp_path / "bundle.txt"
    ini.write_text("[agent]\nrate = never\n")

    done = pystrobe.run("bundle", "-c", ini, "-o", bundle, "--socket", tmp_path / "none")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = bundle.read_text()
    titles = re.findall(r"^== (.*)$", text, re.MULTILINE)
    assert [part for part in PARTS if not any(title.startswith(part) for title in titles)] == []
    assert "%s:2: " % ini in text and "no agent listens at" in text and "Max open files" in text
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


def test_nothing_is_written_over(pystrobe, tmp_path):
    (tmp_path / "there").write_text("mine")

    done = pystrobe.run("bundle", "-o", tmp_path / "there")

    assert done.returncode == 1 and "exists" in done.stderr and (tmp_path / "there").read_text() == "mine"


def test_what_cannot_be_run_or_does_not_end_is_told_and_does_not_stop_the_rest(pystrobe, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("uname", "echo half of it; exec /bin/sleep 3600"), ("journalctl", "echo $OWN_WORD; exit 3")):
        (programs / name).write_text("#!/bin/sh\n%s\n" % text)
        (programs / name).chmod(0o755)

    done = pystrobe.run("bundle", "-c", tmp_path / "none.ini", env=dict(os.environ, PATH=str(programs), OWN_WORD="its own"))

    assert (done.returncode, done.stderr) == (0, "")
    parts = dict(part.split("\n", 1) for part in done.stdout.split("\n== ")[1:])
    assert parts["uname -a"] == "half of it\nkilled: it did not end within 10 s\n"
    assert "cannot be run: No such file or directory\n" in parts["cat /proc/self/limits"]
    assert [text for title, text in parts.items() if title.startswith("journalctl")] == ["its own\n"]
