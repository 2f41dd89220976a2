# SPDX-License-Identifier: Apache-2.0
"""A program whose times are known: target.py KIND THREADS BURST_MS DUTY SECONDS.

Its threads wait until a line comes on standard input, then take turns between BURST_MS of CPU time
and a rest, so that the bursts are DUTY (0 to 1) of the time of each. KIND says what a burst is:
Python code, or C code that runs without the GIL; "serve" is Python code that answers a client, another
process, and rests until the next request. At the end it prints what the kernel says, and
what the threads spent in window() and, of CPU time, in the bursts, as JSON.
"""

import hashlib
import json
import os
import random
import socket
import sys
import threading
import time
import zlib

DATA = random.Random(1).randbytes(1 << 20)


def burst_python(end):
    while time.thread_time() < end:
        sum(range(200))


def burst_zlib(end):
    while time.thread_time() < end:
        zlib.crc32(DATA)


def burst_hash(end):
    while time.thread_time() < end:
        hashlib.sha256(DATA).digest()


def rest(seconds):
    time.sleep(seconds)


def serve_client():
    """Gives a function that answers a client and rests until its next request, which comes when it is told to."""
    ours, its = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        for number in iter(lambda: its.recv(16), b""):
            time.sleep(float(number))
            its.send(b"request")
        os._exit(0)
    its.close()

    def rest_until_request(seconds):
        ours.send(b"%.9f" % seconds)
        ours.recv(16)

    return rest_until_request


def window(burst, pause, burst_s, duty, seconds, dice):
    """Bursts and rests for a while; gives the time that it took, and the CPU time of the bursts."""
    begin, used_s = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        before = time.thread_time()
        burst(before + burst_s)
        used_s += time.thread_time() - before
        if duty < 1:
            pause(burst_s * (1 / duty - 1) * dice.uniform(0.5, 1.5))
    return time.monotonic() - begin, used_s


def main():
    burst = {"python": burst_python, "serve": burst_python, "zlib": burst_zlib, "hash": burst_hash}[sys.argv[1]]
    threads, burst_s = int(sys.argv[2]), float(sys.argv[3]) / 1000
    duty, seconds = float(sys.argv[4]), float(sys.argv[5])
    begin, leave = threading.Event(), threading.Event()
    windows = []
    pauses = [serve_client() if sys.argv[1] == "serve" else rest for _ in range(threads)]

    def run(number):
        begin.wait()
        windows.append(window(burst, pauses[number], burst_s, duty, seconds, random.Random(number)))
        leave.wait()

    crew = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in crew:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    begin.set()
    while len(windows) < threads:
        time.sleep(0.05)
    cpu_s = time.process_time() - before
    wall_s, burst_cpu_s = map(sum, zip(*windows))
    print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s, "burst_cpu_s": burst_cpu_s}), flush=True)
    sys.stdin.readline()
    leave.set()
    for thread in crew:
        thread.join()


main()
