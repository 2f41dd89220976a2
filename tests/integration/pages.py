# SPDX-License-Identifier: Apache-2.0
"""What tests of the agent's HTTP server share: its settings, requests, and programs to be looked at."""

import http.client
import os
import socket

import agents
import live

PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
max_cpu = 100%%
spool = off
control = %(dir)s/control.sock
[http]
listen = %(listen)s
max_cpu = 100%%
%(more)s
[target desk]
cmdline = %(dir)s/desk
service = shop
[exporter out]
type = store
path = %(dir)s/store
"""
# Two functions that take three quarters and one of the time, whatever the machine does.
PROGRAM = """
import os, sys, threading, time
def %(hot)s(end):
    while time.thread_time() < end:
        sum(range(1000))
def warm(end):
    while time.thread_time() < end:
        sum(range(1000))
def idle():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=idle, name="idler", daemon=True).start()
print("{}", flush=True)
while True:
    now = time.thread_time()
    %(hot)s(now + 0.015)
    warm(now + 0.02)
    time.sleep(0.02)
"""


def free_port():
    return live.free_ports(1)[0]


def ini_of(folder, listen, more=""):
    return INI % {"dir": folder, "listen": listen, "more": more}


def start_target(start, folder, name, hot):
    """A program that no other agent on the machine matches."""
    script = folder / name
    script.write_text(PROGRAM % {"hot": hot})
    target = start(PYTHON, str(script))
    target.read_json()
    return target


def start_program(start, folder, name, hot):
    """The same; gives its pid."""
    return start_target(start, folder, name, hot).pid


class UnixConnection(http.client.HTTPConnection):
    """To a server that listens at a path."""

    def __init__(self, path):
        super().__init__("any.example", timeout=live.DEADLINE_S)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def ask(where, path, method="GET", **headers):
    """(status, body, headers) of the server at a port or a path; status 0: there is none."""
    connection = UnixConnection(where) if isinstance(where, os.PathLike) else \
        http.client.HTTPConnection("127.0.0.1", where, timeout=live.DEADLINE_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    except OSError:
        return 0, b"", {}
    finally:
        connection.close()


def start_agent(pystrobe, ini):
    return agents.Agent(pystrobe, ini)


def wait_until_ready(where):
    live.wait_until(lambda: ask(where, "/readyz")[0] == 200, "the agent is ready", 0.1)
