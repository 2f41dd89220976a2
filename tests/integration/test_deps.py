# SPDX-License-Identifier: Apache-2.0
"""A plain `make` where libraries or tools are missing: it names them, and what installs them."""

import os
import shutil
import subprocess

import pytest

import live

pytestmark = pytest.mark.tools

TOOLS = ("make sh bash cc gcc sed awk git uname stat nproc tr cut head dirname mkdir touch find cat rm expr as ld grep "
         "dpkg-query rpm pkg-config od ar protoc-c").split()
# Stands for a compiler that finds no header of libcurl.
WITHOUT_CURL = """#!/bin/sh
text=$(cat)
case $text in *curl/curl.h*) exit 1 ;; esac
exit 0
"""


def make(folder, without=(), **variables):
    """Runs make with a PATH that has its usual tools, but for some; gives the status and what it printed."""
    tools = folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        path = shutil.which(name)
        if path and name not in without:
            (tools / name).symlink_to(path)
    words = ["%s=%s" % pair for pair in variables.items()]
    done = subprocess.run([str(tools / "make"), "-C", live.TREE, "BUILD=%s" % (folder / "build"), *words],
                          env={"PATH": str(tools), "HOME": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=live.DEADLINE_S)
    return done.returncode, done.stdout


def test_a_missing_tool_is_named_with_what_installs_it(tmp_path):
    status, text = make(tmp_path, without=["protoc-c"])

    assert status != 0
    assert "make: these are missing: protoc-c\n" in text and "make deps DEPS=build" in text
    assert "No such file" not in text


def test_a_missing_header_is_named_with_what_installs_it(tmp_path):
    compiler = tmp_path / "without-curl"
    compiler.write_text(WITHOUT_CURL)
    compiler.chmod(0o755)

    status, text = make(tmp_path, CC=str(compiler))

    assert status != 0
    assert "make: these are missing: curl/curl.h\n" in text and "make deps DEPS=build" in text


def test_where_nothing_is_missing_nothing_is_said(tmp_path):
    done = subprocess.run(["sh", os.path.join(live.TREE, "tests", "setup", "deps.sh"), "check"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=live.DEADLINE_S)

    assert (done.returncode, done.stdout) == (0, "")
