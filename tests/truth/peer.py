# SPDX-License-Identifier: Apache-2.0
"""Samples a process with CPython's own profiler, in the shape of truth_sampler.c: PID RATE SECONDS [blocking].

Is run by CPython 3.15 or later.
"""

import contextlib
import json
import sys
import time

from profiling.sampling.sample import SampleProfiler


class Seen:
    """A collector that keeps every stack."""

    def __init__(self):
        self.functions, self.nodes, self.stacks = {}, {}, {}
        self.ticks = self.failed = self.threads = 0
        self.begin_ns = self.now_ns = time.monotonic_ns()
        self.weight = self.weight_squares = 0

    def tick(self):
        before, self.now_ns = self.now_ns, time.monotonic_ns()
        weight = self.now_ns - before
        self.ticks += 1
        self.weight += weight
        self.weight_squares += weight * weight
        return weight

    def collect_failed_sample(self):
        self.tick()
        self.failed += 1

    def collect(self, stack_frames, timestamps_us=None):
        weight = self.tick()
        for interpreter in stack_frames:
            for thread in interpreter.threads:
                self.threads += 1
                self.add(thread.thread_id, self.node_of(thread.frame_info), weight)

    def node_of(self, frames):
        node = -1
        for frame in reversed(frames):
            if frame.filename == "__init__":  # the interpreter's own, between a class and its __init__
                continue
            line = frame.location[0] if frame.location else 0
            function = self.functions.setdefault((frame.funcname, frame.filename), len(self.functions))
            node = self.nodes.setdefault((node, function, line), len(self.nodes))
        return node

    def add(self, tid, node, weight):
        seen = self.stacks.setdefault((tid, node), [0, 0, self.now_ns, 0])
        seen[0] += 1
        seen[1] += weight
        seen[3] = self.now_ns

    def document(self):
        return {
            "version": sys.version.split()[0], "ticks": self.ticks, "threads": self.threads, "torn": 0,
            "effective": self.weight ** 2 / self.weight_squares if self.weight_squares else 0,
            "begin_ns": self.begin_ns, "end_ns": time.monotonic_ns(), "cpu_ns": time.process_time_ns(),
            "failed": {"error": self.failed}, "stats": {},
            "functions": [[name, file, None] for name, file in self.functions],
            "nodes": list(self.nodes), "stacks": [list(key) + seen for key, seen in self.stacks.items()],
        }


def main():
    pid, rate, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    profiler = SampleProfiler(pid, int(1e6 / rate), all_threads=True, gc=False, native=False,
                              blocking=sys.argv[4:] == ["blocking"])
    seen = Seen()
    with contextlib.redirect_stdout(sys.stderr):  # it reports there
        profiler.sample(seen, seconds)
    json.dump(seen.document(), sys.stdout)


if __name__ == "__main__":
    main()
