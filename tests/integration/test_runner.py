# SPDX-License-Identifier: Apache-2.0
"""tests/run.py, tests/steps.sh and make unit: what is counted, and what a second try can and cannot mend."""

import os
import subprocess
import sys

import pytest

import live

pytestmark = pytest.mark.tools

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
    assert "second try: flaky" in text.splitlines() and "late" in text


def test_a_program_that_always_fails_fails(tmp_path):
    bad = program(tmp_path, "bad", "echo 'not ok 1 - a'; echo '# 1 != 2'; echo '# x.c:5: error'; exit 1")
    status, last, text = run(tmp_path, "--unit", bad)
    assert (status, last) == (1, "0 passed, 1 failed, 0 skipped")
    assert "failed: bad (a # 1 != 2 # x.c:5: error)" in text.splitlines() and "second try: bad" not in text.splitlines()


def test_what_a_sanitizer_finds_is_final(tmp_path):
    found = program(tmp_path, "found", FAILS_ONCE % {"mark": tmp_path / "mark", "text": "ERROR: AddressSanitizer: x"})
    status, last, text = run(tmp_path, "--unit", found)
    assert (status, last) == (1, "0 passed, 1 failed, 0 skipped")
    assert "failed: found (ERROR: AddressSanitizer: x)" in text.splitlines()


def test_a_program_that_ends_early_is_named_with_its_status(tmp_path):
    dies = program(tmp_path, "dies", "echo last words; exit 3")
    status, last, text = run(tmp_path, "--unit", dies)
    assert (status, last) == (1, "0 passed, 1 failed, 0 skipped")
    assert "failed: dies (status 3 after: last words)" in text.splitlines()


def test_a_live_test_that_fails_once_passes_and_is_named(tmp_path):
    write_suite(tmp_path, "late")
    status, last, text = run(tmp_path, "--pytest", "suite")
    assert (status, last) == (0, "2 passed, 0 failed, 0 skipped")
    assert "second try: suite/test_it.py::test_fails_once" in text.splitlines()


def test_a_live_test_that_a_sanitizer_failed_fails(tmp_path):
    write_suite(tmp_path, "WARNING: ThreadSanitizer: data race")
    status, last, text = run(tmp_path, "--pytest", "suite")
    assert (status, last) == (1, "1 passed, 1 failed, 0 skipped")
    [line] = [line for line in text.splitlines() if line.startswith("failed: ")]
    assert line.startswith("failed: suite/test_it.py::test_fails_once (AssertionError: WARNING: ThreadSanitizer: data race")


def test_programs_that_run_at_the_same_time_are_counted_and_the_failed_one_is_named(tmp_path):
    names = [program(tmp_path, "good%d" % number, "echo 'ok 1 - a'") for number in range(4)]
    bad = program(tmp_path, "bad", "echo 'not ok 1 - a'; exit 1")
    status, last, text = run(tmp_path, "--workers", "3", "--unit", *names, bad)
    assert (status, last) == (1, "4 passed, 1 failed, 0 skipped")
    assert "failed: bad (a)" in text.splitlines()


def test_a_test_of_a_group_of_workers_is_found_for_its_second_try(tmp_path):
    pytest.importorskip("xdist")
    write_suite(tmp_path, "late")
    suite = tmp_path / "suite" / "test_it.py"
    suite.write_text("import pytest\npytestmark = pytest.mark.xdist_group('alone')\n" + suite.read_text())
    status, last, text = run(tmp_path, "--workers", "2", "--pytest", "suite")
    assert (status, last) == (0, "2 passed, 0 failed, 0 skipped")
    assert "second try: suite/test_it.py::test_fails_once" in text.splitlines()


# Each test says when it began and ended.
OVERLAP = """
import pathlib, time, pytest
def note(name):
    began = time.monotonic()
    time.sleep(0.3)
    pathlib.Path(%r, name).write_text("%%f %%f" %% (began, time.monotonic()))
@pytest.mark.parametrize("number", range(4))
def test_beside(number):
    note("beside%%d" %% number)
@pytest.mark.alone
@pytest.mark.parametrize("number", range(2))
def test_alone(number):
    note("alone%%d" %% number)
"""


def test_a_test_that_is_to_be_alone_has_none_beside_it(tmp_path, monkeypatch):
    pytest.importorskip("xdist")
    (tmp_path / "suite").mkdir()
    (tmp_path / "times").mkdir()
    (tmp_path / "suite" / "test_it.py").write_text(OVERLAP % str(tmp_path / "times"))
    (tmp_path / "pythons.jsonl").write_text("")
    monkeypatch.setenv("PYSTROBE_PYTHONS", str(tmp_path / "pythons.jsonl"))
    folder = os.path.join(live.TESTS, "integration")
    (tmp_path / "suite" / "conftest.py").write_text(
        "import sys\nsys.path.insert(0, %r)\n" % folder + open(os.path.join(folder, "conftest.py"), encoding="utf-8").read())

    status, last, text = run(tmp_path, "--workers", "3", "--pytest", "suite")

    assert (status, last) == (0, "6 passed, 0 failed, 0 skipped"), text
    times = {path.name: tuple(map(float, path.read_text().split())) for path in (tmp_path / "times").iterdir()}
    for name, (began, ended) in times.items():
        others = [times[other] for other in times if other != name]
        if name.startswith("alone"):
            assert not [one for one in others if one[0] < ended and began < one[1]], times


STEPS_MAKEFILE = """
good:
\t@echo second try: test_b; echo 3 passed, 0 failed, 1 skipped
names:
\t@echo failed: test_a; echo 1 passed, 1 failed, 0 skipped; exit 1
dies:
\t@echo last words; exit 1
"""


def test_steps_end_with_the_names_of_what_failed(tmp_path):
    (tmp_path / "Makefile").write_text(STEPS_MAKEFILE)
    steps = [os.path.join(live.TREE, "tests", "steps.sh"), str(tmp_path / "logs"), "good", "names", "dies"]
    done = subprocess.run(steps, env=dict(os.environ, MAKE="make -C %s" % tmp_path), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    end = lines.index("failed: names: test_a")
    assert "second try: good: test_b" in lines
    assert done.returncode == 1 and lines[-1] == "4 passed, 2 failed, 1 skipped"
    assert any(line.startswith("failed: dies: last words") for line in lines[end:])


def test_lanes_of_steps_are_added_up_and_their_outputs_kept_whole(tmp_path):
    (tmp_path / "Makefile").write_text(STEPS_MAKEFILE)
    steps = [os.path.join(live.TREE, "tests", "steps.sh"), str(tmp_path / "logs"), "good", "/", "names", "dies"]
    done = subprocess.run(steps, env=dict(os.environ, MAKE="make -s -C %s" % tmp_path), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    begins = lines.index("== make good")
    assert lines[begins + 2] == "3 passed, 0 failed, 1 skipped" and lines[begins + 3].startswith("== make good: 3 passed")
    assert done.returncode == 1 and lines[-1] == "4 passed, 2 failed, 1 skipped"
    assert "failed: names: test_a" in lines and "failed: dies: last words" in lines
    assert [line.split()[:4] for line in lines if line.startswith("names ")] == [["names", "1", "1", "0"]]


def make_unit(name):
    done = subprocess.run(["make", "-n", "-C", live.TREE, "unit", "T=" + name], env=dict(os.environ, MAKEFLAGS=""),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    return done.returncode, [word for line in done.stdout.splitlines() if "run.py" in line for word in line.split()
                             if "/tests/unit/" in word], done.stdout


@pytest.mark.parametrize("name", ["export_queue", "test_export_queue", "delivery/export_queue", "test_export_queue.c"])
def test_make_unit_runs_one_test_by_its_name(name):
    status, programs, text = make_unit(name)
    assert status == 0 and [os.path.basename(program) for program in programs] == ["test_export_queue"], text


def test_make_unit_says_which_tests_there_are():
    status, programs, text = make_unit("retry")
    assert status != 0 and not programs
    assert "there is no test retry" in text and " delivery/export_queue " in text
