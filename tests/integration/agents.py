# SPDX-License-Identifier: Apache-2.0
"""A running `pystrobe agent`, as the tests of it see it."""

import os
import re
import signal
import subprocess
import threading
import time

import live

# An agent that keeps what it is to send on disk; exporters go behind it.
SPOOLING = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
max_cpu = 100%
spool = {spool}
spool_min_free = 0B
[target shop]
cmdline = {target}
"""


class Agent:
    """A running agent, its log as it comes, and the processes that it says it samples."""

    def __init__(self, pystrobe, ini, under=()):
        """`under`: words that run it, and become it."""
        self.ini = ini
        self.process = subprocess.Popen([*under, *pystrobe.words, pystrobe.path, "agent", "-c", ini],
                                        stderr=subprocess.PIPE, text=True)
        self.log, self.attached, self._changed = [], set(), threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            found = re.search(r"process (\d+): sampling", line)
            with self._changed:
                self.log.append(line)
                if found:
                    self.attached.add(int(found.group(1)))
                self._changed.notify_all()

    def wait_for(self, pids):
        with self._changed:
            assert self._changed.wait_for(lambda: set(pids) <= self.attached, live.DEADLINE_S), self.log

    def wait_for_line(self, text):
        """The first line of the log with that text, once it is there."""
        def found():
            return next((line for line in self.log if text in line), None)

        with self._changed:
            assert self._changed.wait_for(found, live.DEADLINE_S), "no %r in %s" % (text, self.log)
            return found()

    def stop(self, bounds=None):
        """Gives (exit status, seconds it took). If it does not end, the test fails."""
        started = time.monotonic()
        if bounds:
            bounds.at_end()
        self.process.send_signal(signal.SIGTERM)
        if bounds:
            bounds.after_end(self.process.pid)
        status = self.process.wait(live.DEADLINE_S)
        self._reader.join()
        return status, time.monotonic() - started

    def end_traced(self):
        """Ends it: it has its last word, although strace holds one of its threads then."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            tracer = int(re.search(r"TracerPid:\s+(\d+)", file.read()).group(1))
        assert tracer > 0, "nobody traces it"
        self.process.send_signal(signal.SIGTERM)
        try:
            self.wait_for_line("stopped: ")
        finally:
            os.kill(tracer, signal.SIGKILL)  # which it would not end without
            assert self.process.wait(live.DEADLINE_S) == 0
