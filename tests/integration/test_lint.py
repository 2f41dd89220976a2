# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/lint/ that hold the architecture fail on what they are there for."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import live

pytestmark = pytest.mark.tools

LINT = os.path.join(live.TREE, "tests", "lint")
SOURCES = ("base", "unwind", "pprof", "formats", "conf", "exporters", "agent")


def run(*words):
    # CC is only asked whether headers compile alone, which takes long and is not tried here.
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120,
                          env=dict(os.environ, CC="true", BUILD="build"))
    return done.returncode, done.stdout


@pytest.fixture(name="tree")
def copy_of_the_tree(tmp_path):
    for folder in SOURCES:
        shutil.copytree(os.path.join(live.TREE, folder), tmp_path / folder)
    shutil.copy(os.path.join(live.TREE, "README.md"), tmp_path)
    return tmp_path


def check_includes(tree):
    return run("bash", os.path.join(LINT, "includes.sh"), str(tree))


def add_line(path, line):
    path.write_text(line + "\n" + path.read_text())


def test_the_tree_as_it_is_passes(tree):
    assert check_includes(tree) == (0, "")


@pytest.mark.parametrize("file, header", [
    ("agent/host/clock.h", "agent/proc/proc.h"),  # upwards
    ("agent/sampling/engine.h", "agent/supervisor/budget.h"),  # upwards
    ("agent/top/view.h", "agent/delivery/delivery.h"),  # sideways
    ("agent/sampling/engine.c", "unwind/target.h"),  # a private header of a library
    ("unwind/read/mem.h", "unwind/target.h"),  # upwards in a library
    ("pprof/profile.h", "unwind/cpy.h"),  # from library to library
    ("base/buf.h", "conf/conf.h"),
])
def test_an_include_that_the_table_does_not_allow_fails(tree, file, header):
    add_line(tree / file, '#include "%s"' % header)

    status, text = check_includes(tree)

    assert status == 1 and "%s may not include %s" % (file, header) in text


def test_a_generated_header_counts_too(tree):
    add_line(tree / "unwind" / "sample.c", "#include <pprof/profile.pb-c.h>")

    status, text = check_includes(tree)

    assert status == 1 and "unwind/sample.c may not include pprof/profile.pb-c.h" in text


def test_a_folder_that_is_not_in_the_table_fails(tree):
    (tree / "agent" / "misc").mkdir()
    (tree / "agent" / "misc" / "misc.c").write_text("")

    status, text = check_includes(tree)

    assert status == 1 and "agent/misc is not in the table of folders" in text


def test_a_c_file_beside_the_folders_of_the_agent_fails(tree):
    (tree / "agent" / "misc.c").write_text("")

    status, text = check_includes(tree)

    assert status == 1 and "agent is not in the table of folders" in text


def test_a_folder_with_too_many_files_fails(tree):
    for number in range(46):
        (tree / "agent" / "exec" / ("more%d.c" % number)).write_text("")

    status, text = check_includes(tree)

    assert status == 1 and re.search(r"agent/exec has \d+ C and header files, more than 45", text)


def test_a_folder_that_the_readme_does_not_name_fails(tree):
    readme = (tree / "README.md").read_text()
    (tree / "README.md").write_text(readme.replace("| `agent/top` |", "| `top` |"))

    status, text = check_includes(tree)

    assert status == 1 and "README.md has no row for agent/top" in text


def test_a_folder_whose_headers_do_not_say_what_it_knows_fails(tree):
    header = tree / "agent" / "dump" / "dump.h"
    header.write_text(header.read_text().replace("Folder agent/dump: knows", "agent/dump has"))

    status, text = check_includes(tree)

    assert status == 1 and 'not one header of agent/dump, but 0, begins with "Folder agent/dump: knows' in text


def check_types(tree):
    return run("bash", os.path.join(LINT, "types.sh"), str(tree))


def test_no_type_of_exporter_is_compared_outside_exporters(tree):
    assert check_types(tree) == (0, "")


@pytest.mark.parametrize("comparison", [
    'strcmp(type->name, "otlp") == 0',
    'strncmp(conf->exporters[i].type->name,\n            "pyroscope", 9)',
    "type == &exporter_types[EXPORTER_STORE]",
])
def test_a_type_of_exporter_that_is_compared_fails(tree, comparison):
    add_line(tree / "agent" / "serve" / "web.c", "bool f(void) { return %s; }" % comparison)

    status, text = check_types(tree)

    assert status == 1 and "agent/serve/web.c compares a type of exporter" in text


@pytest.fixture(name="cached")
def tree_with_a_cache(tmp_path):
    """A tree with one cache that is described, and the text of it."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pids.c").write_text("static void forgets_the_dead(void **state)\n{\n}\n")
    text = """/*
 * Cache: what is known
 *        of processes
 * Key:   pid
 * Ends:  with the process
 * Test:  tests/test_pids.c:
 *          forgets_the_dead
 */
struct pointer_table by_pid;
"""
    (tmp_path / "agent" / "pids.h").write_text(text)
    return tmp_path, text


def check_caches(tree):
    return run(sys.executable, os.path.join(LINT, "caches.py"), str(tree))


def test_caches_are_listed_with_key_end_and_test(cached):
    status, text = check_caches(cached[0])

    assert status == 0
    assert "| agent/pids.h | what is known of processes | pid | with the process | tests/test_pids.c: forgets_the_dead |" in text
    assert "caches: 1, 0 mistakes" in text


def test_the_caches_of_the_tree_as_it_is_pass():
    status, text = check_caches(live.TREE)

    assert status == 0, text


@pytest.mark.parametrize("old, new, mistake", [
    (" * Key:   pid\n", "", "has no Key"),
    (" * Ends:  with the process\n", " * Ends:\n", "has no Ends"),
    (" * Test:  tests/test_pids.c:\n *          forgets_the_dead\n", "", "has no Test"),
    (" * Test:  tests/test_pids.c:\n *          forgets_the_dead\n", " * Test:  by hand\n", "names no test"),
    ("forgets_the_dead", "forgets", "names a test that does not exist, tests/test_pids.c: forgets"),
    ("test_pids.c", "test_pid.c", "names a test that does not exist, tests/test_pid.c: forgets_the_dead"),
    ("Cache:", "Keeps:", "agent/pids.h has a pointer_table"),
])
def test_a_cache_that_is_not_described_fails(cached, old, new, mistake):
    tree, text = cached
    (tree / "agent" / "pids.h").write_text(text.replace(old, new))

    status, said = check_caches(tree)

    assert status == 1 and mistake in said


def compile_files(folder, files):
    """Writes {path: C text} to the folder and compiles it to object files below build/; gives what cycles.py says."""
    for path, text in files.items():
        source, target = folder / (path + ".c"), folder / "build" / (path + ".o")
        source.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        subprocess.run([os.environ.get("CC", "cc"), "-c", "-o", str(target), str(source)], check=True)
    return check_cycles(folder)


def check_cycles(folder):
    return run(sys.executable, os.path.join(LINT, "cycles.py"), str(folder))


ONE_DIRECTION = {
    "base/a": "int a(void); int a(void) { return 1; }",
    "base/b": "int a(void); int b(void); int b(void) { return a(); }",
}


def test_files_that_use_each_other_fail(tmp_path):
    status, text = compile_files(tmp_path, {
        "base/a": "int b(void); int a(void); int a(void) { return b(); }",
        "base/b": "int c(void); int b(void); int b(void) { return c(); }",
        "agent/host/c": "int a(void); int c(void); int c(void) { return a(); }",
        "agent/host/d": "int a(void); int d(void); int d(void) { return a(); }",
    })

    assert status == 1
    assert "base/a.c uses base/b.c: b" in text and "agent/host/c.c uses base/a.c: a" in text
    assert "agent/host/d" not in text


def test_files_in_one_direction_pass(tmp_path):
    assert compile_files(tmp_path, ONE_DIRECTION) == (0, "cycles: 2 C files, 0 headers, 0 cycles\n")


def test_an_object_file_without_a_source_does_not_count(tmp_path):
    compile_files(tmp_path, dict(ONE_DIRECTION, **{"base/old": "int a(void); int a(void) { return 1; }"}))
    (tmp_path / "base" / "old.c").unlink()

    status, text = check_cycles(tmp_path)

    assert status == 0 and "2 C files" in text


def test_headers_that_include_each_other_fail(tmp_path):
    compile_files(tmp_path, ONE_DIRECTION)
    (tmp_path / "base" / "a.h").write_text('#include "base/b.h"\n')
    (tmp_path / "base" / "b.h").write_text('#include "base/a.h"\n')

    status, text = check_cycles(tmp_path)

    assert status == 1 and "base/a.h uses base/b.h\n" in text and "base/b.h uses base/a.h\n" in text


def test_no_object_files_are_no_success(tmp_path):
    status, text = check_cycles(tmp_path)

    assert status == 1 and "run make" in text
