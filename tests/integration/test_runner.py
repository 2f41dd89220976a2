# SPDX-License-Identifier: Apache-2.0
"""tests/run.py: what it counts, and what a second try can and cannot mend."""

import os
import subprocess
import sys

import live

RUN = os.path.join(live.TREE, "tests", "run.py")
FAILS_ONCE = "if [ -e %(mark)s ]; then echo 'ok 1 - a'; else touch %(mark)s; echo '%(text)s'; echo 'not ok 1 - a'; exit 1; fi"
TESTS = """
import os
def test_good():
    pass
def test_fails_once():
    first = not os.path.exists("mark")
    open("mark", "w").close()
    assert not first, %r
"""


def run(folder, *arguments):
    done = subprocess.run([sys.executable, RUN, "--build", str(folder / "build"), *arguments], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    return done.returncode, done.stdout.splitlines()[-1], done.stdout


def program(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\necho 1..1\n%s\n" % text)
    path.chmod(0o755)
    return str(path)


def write_suite(folder, words):
    (folder / "suite").mkdir()
    (folder / "suite" / "test_it.py").write_text(TESTS % words)


def test_a_program_that_fails_once_passes_and_is_named(tmp_path):
    flaky = program(tmp_path, "flaky", FAILS_ONCE % {"mark": tmp_path / "mark", "text": "late"})
    status, last, text = run(tmp_path, "--unit", flaky)
    assert (status, last) == (0, "1 passed, 0 failed, 0 skipped")
    assert "second try: flaky" in text and "late" in text


def test_a_program_that_always_fails_fails(tmp_path):
    bad = program(tmp_path, "bad", "echo 'not ok 1 - a'; exit 1")
    assert run(tmp_path, "--unit", bad)[:2] == (1, "0 passed, 1 failed, 0 skipped")


def test_what_a_sanitizer_finds_is_final(tmp_path):
    found = program(tmp_path, "found", FAILS_ONCE % {"mark": tmp_path / "mark", "text": "ERROR: AddressSanitizer: x"})
    assert run(tmp_path, "--unit", found)[:2] == (1, "0 passed, 1 failed, 0 skipped")


def test_a_live_test_that_fails_once_passes_and_is_named(tmp_path):
    write_suite(tmp_path, "late")
    status, last, text = run(tmp_path, "--pytest", "suite")
    assert (status, last) == (0, "2 passed, 0 failed, 0 skipped")
    assert "second try: suite/test_it.py::test_fails_once" in text


def test_a_live_test_that_a_sanitizer_failed_fails(tmp_path):
    write_suite(tmp_path, "WARNING: ThreadSanitizer: data race")
    assert run(tmp_path, "--pytest", "suite")[:2] == (1, "1 passed, 1 failed, 0 skipped")
