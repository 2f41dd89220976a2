# SPDX-License-Identifier: Apache-2.0
"""Burns a known share of CPU in functions of known names, and says at its end what it used.

    busy.py [--seconds S] [--threads N] [--cycle-ms MS] [--duty SHARE] [--shares NAME:WEIGHT,...]

Each thread burns DUTY of every cycle's time as CPU of its own, split over the named functions
by weight, and sleeps the rest. First line printed: {"pid", "tids", "started_ns"}. It ends after
--seconds, at SIGTERM or when its standard input ends, and then prints its own measurement, from
the clocks that Python offers: {"wall_ns", "process_cpu_ns", "threads": [{"tid", "name",
"wall_ns", "cpu_ns", "functions": {name: cpu_ns}}]}. `started_ns` is CLOCK_MONOTONIC.
Source that CPython 3.6 to 3.15 all read.
"""

import argparse
import json
import os
import platform
import signal
import sys
import threading
import time

STEP = 200  # rounds of arithmetic between two looks at the clock

FUNCTION = """
def {name}(until_ns):
    while thread_cpu_ns() < until_ns:
        value = 1
        for number in range({step}):
            value = (value * 31 + number) % 1000003
"""


def clock_ns(clock):
    if hasattr(time, "clock_gettime_ns"):  # 3.7
        return time.clock_gettime_ns(clock)
    return int(time.clock_gettime(clock) * 1e9)


def thread_cpu_ns():
    return clock_ns(time.CLOCK_THREAD_CPUTIME_ID)


def monotonic_ns():
    return clock_ns(time.CLOCK_MONOTONIC)


def native_id():
    if hasattr(threading, "get_native_id"):  # 3.8
        return threading.get_native_id()
    import ctypes

    return ctypes.CDLL(None).syscall({"x86_64": 186, "aarch64": 178}[platform.machine()])


def make_burner(name):
    """A function of that very name, each with code of its own."""
    names = {"thread_cpu_ns": thread_cpu_ns}
    exec(compile(FUNCTION.format(name=name, step=STEP), __file__, "exec"), names)
    return names[name]


def read_shares(text):
    pairs = [part.split(":") for part in text.split(",")]
    total = sum(float(weight) for _, weight in pairs)
    return [(make_burner(name), float(weight) / total) for name, weight in pairs]


class Worker(threading.Thread):
    """One thread that burns and sleeps until told to stop."""

    def __init__(self, number, options, stop):
        super().__init__(name="burner-%d" % number, daemon=True)
        self.shares = read_shares(options.shares)
        self.cycle_ns = int(options.cycle_ms * 1e6)
        self.duty = options.duty
        self.stop = stop
        self.tid = None
        self.ready = threading.Event()
        self.started_ns = self.wall_ns = self.cpu_ns = 0
        self.functions = {burner.__name__: 0 for burner, _ in self.shares}

    def burn(self):
        for burner, share in self.shares:
            before = thread_cpu_ns()
            burner(before + int(self.cycle_ns * self.duty * share))
            self.functions[burner.__name__] += thread_cpu_ns() - before

    def run(self):
        self.tid = native_id()
        self.started_ns = monotonic_ns()
        self.ready.set()
        while not self.stop.is_set():
            cycle_end = monotonic_ns() + self.cycle_ns
            self.burn()
            left = cycle_end - monotonic_ns()
            if left > 0:
                self.stop.wait(left / 1e9)
        self.wall_ns = monotonic_ns() - self.started_ns
        self.cpu_ns = thread_cpu_ns()

    def report(self):
        return {
            "tid": self.tid, "name": self.name, "wall_ns": self.wall_ns, "cpu_ns": self.cpu_ns,
            "functions": self.functions,
        }


def say(document):
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def wait_for_end_of_input(stop):
    while os.read(0, 4096):
        pass
    stop.set()


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cycle-ms", type=float, default=20)
    parser.add_argument("--duty", type=float, default=0.5)
    parser.add_argument("--shares", default="burn_most:70,burn_some:20,burn_little:10")
    return parser.parse_args()


def main():
    options = parse_options()
    stop = threading.Event()
    started_ns = monotonic_ns()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    workers = [Worker(number, options, stop) for number in range(options.threads)]
    for worker in workers:
        worker.start()
        worker.ready.wait()
    threading.Thread(target=wait_for_end_of_input, args=(stop,), name="input", daemon=True).start()
    say({"pid": os.getpid(), "tids": [worker.tid for worker in workers], "started_ns": started_ns})

    stop.wait(options.seconds)
    stop.set()
    for worker in workers:
        worker.join()
    say({
        "wall_ns": monotonic_ns() - started_ns,
        "process_cpu_ns": clock_ns(time.CLOCK_PROCESS_CPUTIME_ID),
        "threads": [worker.report() for worker in workers],
    })


main()
