# SPDX-License-Identifier: Apache-2.0
"""pystrobe bundle: all that somebody who is to help has to know; that no secret is in it, test_secrets.py sees."""

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
