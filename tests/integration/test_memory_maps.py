# SPDX-License-Identifier: Apache-2.0
"""A process may have mapped any number of files: what its memory map says is read line by line."""

import contextlib
import resource

import pytest


MAPPINGS = 140_000
LIMIT = "/proc/sys/vm/max_map_count"
# Maps the start of one small file again and again, as a training process does its tensors; each is a
# mapping of its own. Protections alternate.
PROGRAM = """
import ctypes, json, os, sys, tempfile
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def burn():
    while True:
        sum(range(1000))
with tempfile.TemporaryFile() as file:
    os.ftruncate(file.fileno(), 4096)
    for number in range(int(sys.argv[1])):
        if libc.mmap(None, 4096, 1 + 2 * (number % 2), 1, file.fileno(), 0) in (None, 2 ** 64 - 1):
            sys.exit("mmap: %s" % os.strerror(ctypes.get_errno()))
print(json.dumps({"pid": os.getpid()}), flush=True)
burn()
"""


@contextlib.contextmanager
def room_for_mappings():
    """Lets processes have as many mappings, if we may say so; puts the limit back."""
    with open(LIMIT, encoding="ascii") as file:
        before = int(file.read())
    if before >= 2 * MAPPINGS:
        yield
        return
    try:
        with open(LIMIT, "w", encoding="ascii") as file:
            file.write(str(2 * MAPPINGS))
    except OSError as error:
        pytest.skip("%s is %d and cannot be raised: %s" % (LIMIT, before, error))
    try:
        yield
    finally:
        with open(LIMIT, "w", encoding="ascii") as file:
            file.write(str(before))


def attach_s(pystrobe, pid):
    """CPU time that it takes to find the interpreter of a process and to read its stacks once."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = pystrobe.run("dump", "--pid", pid)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert "burn" in done.stdout
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


@pytest.mark.few
@pytest.mark.timing  # a sanitizer is busy with the map for the whole recording
@pytest.mark.alone  # it changes a limit of the machine
def test_a_process_with_many_mappings_is_sampled(pystrobe, start, tmp_path, python):
    script = tmp_path / "mapper.py"
    script.write_text(PROGRAM)
    with room_for_mappings():
        plain = start(python, str(script), 0).read_json()["pid"]
        mapper = start(python, str(script), MAPPINGS).read_json()["pid"]
        with open("/proc/%d/maps" % mapper, encoding="utf-8") as file:
            assert sum(1 for _ in file) > MAPPINGS

        out = tmp_path / "out.collapsed"
        done = pystrobe.run("record", "--pid", mapper, "-d", "5s", "-r", 100, "-o", out)
        costs = [min(attach_s(pystrobe, pid) for _ in range(3)) for pid in (plain, mapper)]

    assert done.returncode == 0, done.stderr
    print("attaching: %.1f ms, with %d mappings %.1f ms" % (costs[0] * 1e3, MAPPINGS, costs[1] * 1e3))
    assert costs[1] - costs[0] < 2
    stacks = [line.rpartition(" ") for line in out.read_text().splitlines()]
    assert sum(int(weight) for stack, _, weight in stacks if "burn" in stack) > 0.8 * sum(int(weight) for _, _, weight in stacks)
