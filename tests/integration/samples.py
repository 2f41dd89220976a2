# SPDX-License-Identifier: Apache-2.0
"""Takes many samples of one process with tests/tools/sample_many, in the shape of a dump."""

import os
import subprocess

import live

MAIN = 1
BATCH = 100
STATUSES = {2: "gil", 4: "cpu", 8: "gil_wait", 16: "exception", 32: "gc"}  # enum cpy_status


class Sample:
    """What was seen, how many times: threads by tid, as in a dump, with their interpreter."""

    def __init__(self, times, text):
        self.times = times
        self.text = text
        self.threads = {}
        thread = None
        for line in text.splitlines():
            kind, rest = line.split(" ", 1)
            assert kind in ("thread", "frame"), "a sample %s" % line
            if kind == "thread":
                thread = self._add_thread(rest)
            else:
                thread["frames"].append(frame_of(rest))

    def _add_thread(self, line):
        tid, interpreter, status, state, name = line.split(" ", 4)
        thread = {
            "tid": int(tid), "interpreter": int(interpreter), "name": name or None,
            "main": bool(int(status) & MAIN), "torn": state == "torn", "cut": state == "cut",
            "status": [word for bit, word in STATUSES.items() if int(status) & bit], "frames": [],
        }
        self.threads[thread["tid"]] = thread
        return thread


def frame_of(line):
    number, first_line, opcode, rest = line.split(" ", 3)
    func, file = rest.split("\t")
    return {"func": func, "file": file, "line": int(number), "first_line": int(first_line),
            "opcode": None if opcode == "-" else opcode}


def tool(name):
    build = os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build"))
    return os.path.join(os.path.abspath(build), "tests", "tools", name)


def take(pid, count, pause_us=0, *options):
    """Gives the different samples among `count`; options are those of sample_many."""
    done = subprocess.run(
        live.root_words() + [tool("sample_many"), str(pid), str(count), str(pause_us), *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=live.DEADLINE_S, check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found, rest = [], done.stdout
    while rest:
        head, rest = rest.split(b"\n", 1)
        times, size = map(int, head.split()[1:])
        found.append(Sample(times, rest[:size].decode("utf-8")))
        rest = rest[size:]
    assert sum(sample.times for sample in found) == count
    return found


class Stepper:
    """Samples one process when it is told to, with what is remembered from one sample to the next."""

    def __init__(self, pid):
        self._process = subprocess.Popen(
            live.root_words() + [tool("sample_many"), str(pid), str(1 << 30), "0", "stepped"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self):
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        head = self._process.stdout.readline()
        assert head, "sample_many has ended"
        return Sample(1, self._process.stdout.read(int(head.split()[2])).decode("utf-8"))

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(live.DEADLINE_S) == 0


def take_until(enough, pid, pause_us, *options):
    """Samples until enough(found); that takes longer where others want the CPU, too."""
    found = []

    def take_more():
        found.extend(take(pid, BATCH, pause_us, *options))
        return enough(found)

    live.wait_until(take_more, "enough samples", 0)
    return found


def times(found, tid, status):
    """In how many samples the thread had that status."""
    return sum(sample.times for sample in found if status in sample.threads[tid]["status"])


def holders(sample):
    """Who holds the GIL."""
    return [tid for tid, thread in sample.threads.items() if "gil" in thread["status"]]
