# SPDX-License-Identifier: Apache-2.0
"""Asks an agent's HTTP server without end: web_flood.py PORT.

Two clients ask for /metrics and /debug/stacks, one for the end of each answer; 64 connections send a byte now and then.
"""

import contextlib
import itertools
import socket
import sys
import threading
import time

PORT, TIMEOUT_S = int(sys.argv[1]), 5
SLOW, DRIP_S = 64, 0.5


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=TIMEOUT_S)


def hammer():
    for path in itertools.cycle(["/metrics", "/debug/stacks"]):
        with contextlib.suppress(OSError), connect() as one:
            one.sendall(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path.encode())
            while one.recv(65536):
                pass
        time.sleep(0.002)  # what is refused at once is not to take this machine's CPU time


def drip():
    while True:
        with contextlib.suppress(OSError), connect() as one:
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
            while True:
                one.sendall(b"a")
                time.sleep(DRIP_S)
        time.sleep(DRIP_S)


print("{}", flush=True)
for run in [hammer] * 2 + [drip] * SLOW:
    threading.Thread(target=run, daemon=True).start()
sys.stdin.read()
