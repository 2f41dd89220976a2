# SPDX-License-Identifier: Apache-2.0
"""A parent with workers, as prefork servers have them.

    fork_workers.py [--workers N] [--how fork|multiprocessing|spawn] [--duty SHARE]

Prints {"pid", "workers": [pids]} and runs until its standard input ends or SIGTERM comes; then
it stops the workers and prints {"cpu_ns": {pid: each worker's own process CPU time}}.
Source that CPython 3.6 to 3.15 all read.
"""

import argparse
import json
import multiprocessing
import os
import select
import signal
import sys
import time

CYCLE_S = 0.02
DONE = []  # holds a word once this process shall end


def process_cpu_ns():
    return int(time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) * 1e9)


def handle_request(duty):
    until = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) + CYCLE_S * duty
    value = 1
    while time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) < until:
        value = sum(value * number % 7 for number in range(100))


def end_on_sigterm():
    signal.signal(signal.SIGTERM, lambda *_: DONE.append("term"))


def work(pipe, duty):
    """A worker's whole life; it tells its pid, and at its end its CPU time."""
    end_on_sigterm()
    pipe.send(os.getpid())
    while not DONE:
        handle_request(duty)
        time.sleep(CYCLE_S * (1 - duty))
    pipe.send(process_cpu_ns())


def fork_plainly(pipe, duty):
    if os.fork() == 0:
        work(pipe, duty)
        os._exit(0)


def start_worker(how, duty):
    """Gives the pipe on which the worker talks."""
    ours, theirs = multiprocessing.Pipe(False)
    if how == "fork":
        fork_plainly(theirs, duty)
    else:
        context = multiprocessing.get_context("fork" if how == "multiprocessing" else how)
        context.Process(target=work, args=(theirs, duty)).start()
    theirs.close()
    return ours


def wait_for_the_end():
    while not DONE:
        if select.select([0], [], [], 0.2)[0] and not os.read(0, 4096):
            DONE.append("input")


def say(document):
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--how", choices=("fork", "multiprocessing", "spawn"), default="fork")
    parser.add_argument("--duty", type=float, default=0.3)
    options = parser.parse_args()

    pipes = [start_worker(options.how, options.duty) for _ in range(options.workers)]
    pids = [pipe.recv() for pipe in pipes]
    end_on_sigterm()
    say({"pid": os.getpid(), "workers": pids})

    wait_for_the_end()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    say({"cpu_ns": {pid: pipe.recv() for pid, pipe in zip(pids, pipes)}})


if __name__ == "__main__":
    main()
