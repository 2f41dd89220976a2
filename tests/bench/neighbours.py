# SPDX-License-Identifier: Apache-2.0
"""Programs that keep a machine busy while something else is measured on it."""

import contextlib
import subprocess
import sys

# Ends with its parent, too: nobody else writes to its standard input.
BUSY = """
import fcntl, os, signal
signal.signal(signal.SIGIO, signal.SIG_DFL)
fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
os.write(1, b"x")
while True:
    pass
"""


@contextlib.contextmanager
def busy(count):
    """So many processes that compute all the time, on whatever CPU they get."""
    started = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for one in started:
            one.stdout.read(1)
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()
            one.stdin.close()
            one.stdout.close()
