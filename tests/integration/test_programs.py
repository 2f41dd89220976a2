# SPDX-License-Identifier: Apache-2.0
"""Where an interpreter may be: in containers, in files that are gone, in programs of any name."""

import contextlib
import glob
import json
import os
import shutil
import subprocess
import time

import pytest

import live

FEW = ["sleep", "handles"]  # what tests/targets/statuses.py runs


def dump(pystrobe, pid):
    """{tid: thread} of a dump."""
    done = pystrobe.run("dump", "--pid", pid, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["pid"] == pid
    return {thread["tid"]: thread for interpreter in document["interpreters"] for thread in interpreter["threads"]}


def assert_sees_the_threads(pystrobe, own, pid, tids):
    """`tids` are those of the states in `own`, as we see them."""
    seen = dump(pystrobe, pid)

    assert sorted(seen) == sorted(list(tids.values()))
    for state in FEW:
        thread = seen[tids[state]]
        assert thread["name"] == state
        functions = [frame["func"].split(".")[-1] for frame in thread["frames"]]
        assert functions == (["rest", state, "run", "run", "_bootstrap_inner", "_bootstrap"])
    assert seen[tids["main"]]["main"]


def own_tids(own):
    return dict(own["tids"], main=own["main"])


@contextlib.contextmanager
def running(argv, env=None):
    target = live.Target(argv, env)
    try:
        yield target
    finally:
        target.stop()


# Namespaces.


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def inner_to_outer(pid):
    """{tid in the process's own namespace: tid here}"""
    found = {}
    for path in glob.glob("/proc/%d/task/*/status" % pid):
        with open(path, encoding="utf-8", errors="replace") as file:
            ids = next(line for line in file if line.startswith("NSpid:")).split()[1:]
        found[int(ids[-1])] = int(path.split("/")[4])
    return found


def test_a_program_in_a_mount_and_pid_namespace_of_its_own_is_read(python, pystrobe):
    unshare = ["unshare", "-fpm", "--mount-proc"]
    if subprocess.run(unshare + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("namespaces need root, and not in a chroot")
    words = unshare + live.command_of(python, "statuses.py", *FEW)
    with running(words) as target:
        own = target.read_json()
        assert own["pid"] == 1, "the namespace did not work"
        pid = children_of(target.pid)[0]
        outer = inner_to_outer(pid)

        tids = {state: outer[tid] for state, tid in own_tids(own).items()}
        assert_sees_the_threads(pystrobe, own, pid, tids)


# Files that are not there any more.


@pytest.fixture
def copied(python, tmp_path):
    """A copy of the interpreter: (folder as we see it, path as the target does, environment)."""
    if os.geteuid() != 0 and python["root"]:
        pytest.skip("only root may copy a file into a root")
    folder = "%s/copy-%d" % (live.INSIDE, os.getpid()) if python["root"] else str(tmp_path / "copy")
    path, env = live.copy_of(python, folder)
    yield python["root"] + folder, path, env
    shutil.rmtree(python["root"] + folder, ignore_errors=True)


def test_a_program_whose_files_were_replaced_by_others_is_read(python, pystrobe, copied):
    folder, path, env = copied
    with running(live.command_of(dict(python, inner=path), "statuses.py", *FEW), env) as target:
        own = target.read_json()
        for name in os.listdir(folder):  # as a package upgrade does
            shutil.copy("/bin/true", os.path.join(folder, "new"))
            os.rename(os.path.join(folder, "new"), os.path.join(folder, name))

        assert_sees_the_threads(pystrobe, own, own["pid"], own_tids(own))


# Programs that embed an interpreter.


def build_variables(python):
    """The variables that the interpreter was built with, that tell how to embed it."""
    words = "import json, sysconfig as s; print(json.dumps([s.get_paths()['include'], s.get_config_vars()]))"
    include, found = json.loads(subprocess.run(
        [python["inner"], "-c", words], env=live.clean_environment(), stdout=subprocess.PIPE, check=True).stdout)
    return dict(found, INCLUDE=include)


def compile_program(python, variables, libraries, out, *words):
    """A program called `out` with the interpreter in it; skips where headers are missing."""
    if not os.path.exists(os.path.join(variables["INCLUDE"], "Python.h")):
        pytest.skip("the headers of %s are not installed" % python["id"])
    source = os.path.join(live.TARGETS, "embed.c")
    subprocess.run(
        ["gcc", "-O1", "-w", "-I" + variables["INCLUDE"], '-DPROGRAM="%s"' % python["inner"], "-o", out, source]
        + [*words, *libraries, "-lm", "-ldl", "-lpthread", "-lutil"], check=True)
    return out


def assert_reads_embedded(pystrobe, program):
    script = os.path.join(live.TARGETS, "statuses.py")
    with running([program, script] + FEW) as target:
        own = target.read_json()

        assert_sees_the_threads(pystrobe, own, own["pid"], own_tids(own))


def test_a_program_that_links_libpython_is_read(python, pystrobe, tmp_path):
    if python["root"] or not python["library"]:
        pytest.skip("there is no libpython to link here")
    variables = build_variables(python)
    folder = os.path.dirname(python["library"])
    libraries = [python["library"], "-Wl,-rpath," + folder]

    assert_reads_embedded(pystrobe, compile_program(python, variables, libraries, str(tmp_path / "game")))


@pytest.mark.parametrize("strip", ["-Wl,--gc-sections", "-s"], ids=["with symbols", "stripped"])
def test_a_program_with_the_interpreter_linked_in_and_no_exports_is_read(python, pystrobe, tmp_path, strip):
    variables = {} if python["root"] else build_variables(python)
    archive = os.path.join(variables.get("LIBPL") or "", variables.get("LIBRARY") or "none")
    minor = int(python["version"].split(".")[1])
    if not os.path.exists(archive):
        pytest.skip("there is no static library of %s here" % python["id"])
    if minor < 8 or (strip == "-s" and minor < 10):
        pytest.skip("before 3.10 the runtime has no section, before 3.8 the script needs an extension module")
    libraries = ["-no-pie", strip, archive] + ["-lexpat", "-lz"] * ("debian" in python["id"])

    program = compile_program(python, variables, libraries, str(tmp_path / "game"))

    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", program], stdout=subprocess.PIPE, check=True).stdout
    assert b" _PyRuntime" not in symbols
    assert_reads_embedded(pystrobe, program)


def test_a_second_libpython_in_the_process_is_not_taken_for_the_first(python, pystrobe, tmp_path):
    if python["root"]:
        pytest.skip("the other libpythons are outside of the root")
    import conftest  # what was found is known there

    others = [entry["library"] for entry in conftest.PYTHONS
              if entry["library"] and not entry["root"] and entry["version"] != python["version"]]
    if not others:
        pytest.skip("there is only one libpython")
    script = tmp_path / "two.py"
    with open(os.path.join(live.TARGETS, "statuses.py"), encoding="utf-8") as file:
        text = file.read()
    script.write_text("import ctypes\nfor other in %r:\n    ctypes.CDLL(other)\n" % (others[:1] + others[-1:]) + text,
                      encoding="utf-8")
    with running([python["inner"], str(script)] + FEW) as target:
        own = target.read_json()
        with open("/proc/%d/maps" % own["pid"], encoding="utf-8") as file:
            maps = file.read()
        assert others[0] in maps and others[-1] in maps

        assert_sees_the_threads(pystrobe, own, own["pid"], own_tids(own))


# What is no CPython.


def assert_one_clear_line(pystrobe, pid, line):
    started = time.monotonic()

    done = pystrobe.run("dump", "--pid", pid)

    assert done.returncode == 69
    assert done.stdout == ""
    assert done.stderr == "pystrobe: process %d: %s\n" % (pid, line)
    assert time.monotonic() - started < 20


@contextlib.contextmanager
def sleeping(path):
    process = subprocess.Popen([path, "1000"], stdin=subprocess.DEVNULL)
    try:
        time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_process_without_python_gives_one_clear_line(pystrobe):
    with sleeping("/bin/sleep") as pid:
        assert_one_clear_line(pystrobe, pid, "it runs no CPython")


def test_a_program_called_python_without_python_gives_one_clear_line(pystrobe, tmp_path):
    path = shutil.copy("/bin/sleep", str(tmp_path / "python3.12"))
    with sleeping(path) as pid:
        assert_one_clear_line(pystrobe, pid, "it runs no CPython")


def test_pypy_gives_one_clear_line(pystrobe, tmp_path):
    path = shutil.copy("/bin/sleep", str(tmp_path / "pypy3.10"))
    with sleeping(path) as pid:
        assert_one_clear_line(pystrobe, pid, "it runs PyPy, which pystrobe cannot read")


ENDLESS_32_BIT = "void _start(void) { for (;;) __asm__ volatile(\"int $0x80\" : : \"a\"(29)); }\n"  # pause


def test_a_32_bit_program_gives_one_clear_line(pystrobe, tmp_path):
    source, path = tmp_path / "small.c", str(tmp_path / "small")
    source.write_text(ENDLESS_32_BIT, encoding="ascii")
    compiled = subprocess.run(["gcc", "-m32", "-static", "-nostdlib", "-o", path, str(source)], check=False,
                              stderr=subprocess.PIPE)
    if compiled.returncode != 0:
        pytest.skip("this compiler makes no 32-bit programs")
    with sleeping(path) as pid:
        assert_one_clear_line(pystrobe, pid, "it is a 32-bit program, which pystrobe cannot read")


def test_a_process_that_has_ended_gives_one_clear_line(pystrobe):
    process = subprocess.Popen(["/bin/true"])
    process.wait()

    assert_one_clear_line(pystrobe, process.pid, "there is no such process")


def start_two_pythons(python, folder):
    """A program that holds this Python and another one, and the other one."""
    import conftest

    others = [entry for entry in conftest.PYTHONS if entry["library"] and not entry["root"] and not entry["debug"]
              and entry["version"].split(".")[:2] != python["version"].split(".")[:2]]
    if python["root"] or not python["library"] or not others:
        pytest.skip("there are no two libpythons that can be loaded here")
    other = others[int(python["version"].split(".")[1]) % len(others)]
    program = str(folder / "two_pythons")
    subprocess.run(["gcc", "-O1", "-o", program, os.path.join(live.TARGETS, "two_pythons.c"), "-ldl"], check=True)
    return running([program, python["library"], python["prefix"], other["library"], other["prefix"]]), other


TWO_INI = """
[agent]
control = %(folder)s/control
[target two]
cmdline = %(folder)s/two_pythons
service = two
[exporter out]
type = store
path = %(folder)s/store
"""


def test_the_second_of_two_pythons_is_named(python, pystrobe, agent, tmp_path):
    target, other = start_two_pythons(python, tmp_path)
    with target as program:
        pid = program.read_json()["pid"]

        dumped = pystrobe.run("dump", "--pid", pid, "--json")
        recorded = pystrobe.run("record", "--pid", pid, "-d", "2", "-o", str(tmp_path / "x.tree"))
        agent(TWO_INI % {"folder": tmp_path}).wait_for_line("process %d of service two: it holds a second Python" % pid)

    shown = json.loads(dumped.stdout)
    named = {python["version"]: python["library"], other["version"]: other["library"]}
    assert shown["python"] in named, shown
    named.pop(shown["python"])
    (version, library), = named.items()
    assert "it holds a second Python, %s of %s, whose threads are not shown" % (
        version, os.path.realpath(library)) in shown["warning"]
    assert "pystrobe: process %d: it holds a second Python" % pid in recorded.stderr
