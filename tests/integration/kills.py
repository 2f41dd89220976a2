#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills agents that push to a server, at any moment, and looks whether all that was on disk arrives.

    python3 kills.py --build build --kills 500       make spool

Each lane is an agent with a spool of its own that is started again after each kill. The server is
slow and at times busy, so that a kill meets profiles in every state. Labels tell which life of the
agent made a profile, a header tells which one sent it.
"""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import entries
import live
from receiver import Receiver

INTERVAL_S = 1  # the least that there is
LIFE_MAX_S = 2.5
ANSWER_MAX_S = 0.04
BUSY_SHARE = 0.2  # of the answers
INI = """
[agent]
rate = 50Hz
interval = %(interval)ds
scan = 100ms
max_cpu = 100%%
control = %(folder)s/control.sock
spool = %(folder)s/spool
spool_min_free = 0B
[labels]
lane = %(lane)d
life = %(life)d
[target one]
cmdline = %(marker)s-one
service = one
[target two]
cmdline = %(marker)s-two
service = two
[exporter server]
type = pyroscope
url = %(url)s
header.X-Life = %(life)d
timeout = 2m
stall_timeout = 2m
"""
TARGET = "import time\nwhile True:\n sum(range(20000))\n time.sleep(0.005)"
KINDS = {"cpu": "process_cpu", "wall": "wall"}  # at a Pyroscope
# What only the thread that writes to the disk calls, and which times are to be its last.
DISK_CALLS = [("fsync", number) for number in (1, 2, 3, 4)] + [("renameat", 1), ("renameat", 2), ("unlinkat", 2),
                                                             ("unlinkat", 3)]

# A profile: which life of which lane made it, of what, and when it begins.
Key = collections.namedtuple("Key", "lane life service kind start_ns")
# How it came: which life sent it, when, and when it ends.
Receipt = collections.namedtuple("Receipt", "sender received end")


def key_of_entry(entry):
    return Key(int(entry.labels["lane"]), int(entry.labels["life"]), entry.service, KINDS[entry.kind],
               entry.start_ns)


class Life:
    """From a start to a kill, as seen from outside."""

    def __init__(self):
        self.began, self.ended = time.time(), None
        self.kept = set()  # the profiles on disk after the end


class Lane:
    """An agent that is started and killed again and again."""

    def __init__(self, number, pystrobe, folder, url, marker):
        self.number, self.pystrobe, self.folder, self.url, self.marker = number, pystrobe, folder, url, marker
        self.spool = os.path.join(folder, "spool")
        self.log = os.path.join(folder, "log")
        self.lives = []
        os.makedirs(folder)

    @contextlib.contextmanager
    def living(self, *words):
        """A life of it; afterwards it is killed, and what is on disk then is noted."""
        ini = os.path.join(self.folder, "pystrobe.ini")
        with open(ini, "w", encoding="utf-8") as file:
            file.write(INI % dict(interval=INTERVAL_S, folder=self.folder, lane=self.number, life=len(self.lives),
                                  marker=self.marker, url=self.url))
        life = Life()
        self.lives.append(life)
        with open(self.log, "ab") as log:
            process = subprocess.Popen([*words, *self.pystrobe.words, self.pystrobe.path, "agent", "-c", ini],
                                       stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            life.ended = time.time()
            life.kept = {key_of_entry(entry) for entry in entries.read_all(self.spool)}

    def kill_after(self, seconds):
        with self.living():
            time.sleep(seconds)

    def kill_at(self, call, number):
        """Kills it as a thread of it enters its n-th such call."""
        with self.living("strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
                         "-e", "inject=%s:signal=KILL:when=%d" % (call, number)) as process:
            status = process.wait(live.DEADLINE_S)
        assert status == -signal.SIGKILL, "it ended otherwise than at %s %d" % (call, number)

    def drain(self):
        """Lets it live until what earlier lives made is sent, and ends it as one should."""
        earlier = os.path.getsize(self.log) if os.path.exists(self.log) else 0

        def has_started():
            with open(self.log, "rb") as log:
                log.seek(earlier)
                return b"started: " in log.read()

        with self.living() as process:
            number = str(len(self.lives) - 1)
            live.wait_until(lambda: has_started() and
                            all(entry.labels["life"] == number for entry in entries.read_all(self.spool)),
                            "the backlog of lane %d is sent" % self.number, 0.2)
            process.terminate()
            assert process.wait(live.DEADLINE_S) == 0


class Kills:
    """The lanes, the server that all push to, the programs that all sample."""

    def __init__(self, build, pystrobe, folder, lanes, seed):
        self.random = random.Random(seed)
        self.receipts = collections.defaultdict(list)  # of each key
        self.receiver = Receiver(build, on_push=self._take)
        self.lanes = [Lane(i, pystrobe, os.path.join(str(folder), "lane%d" % i), self.receiver.url,
                           "kills-%d" % os.getpid()) for i in range(lanes)]
        self.count = 0  # of kills
        self._lock = threading.Lock()

    def _take(self, push):
        """Notes a push, and lets the agent wait for the answer."""
        labels, profile = push.labels, push.profile
        key = Key(int(labels["lane"]), int(labels["life"]), labels["service_name"], labels["__name__"],
                  profile.time_nanos)
        with self._lock:
            self.receipts[key].append(Receipt(int(push.headers["x-life"]), push.received,
                                              (profile.time_nanos + profile.duration_nanos) / 1e9))
            pause_s = self.random.uniform(0, ANSWER_MAX_S)
            busy = self.random.random() < BUSY_SHARE
        if busy:
            self.receiver.answer(503)
        time.sleep(pause_s)

    @contextlib.contextmanager
    def running(self):
        targets = [subprocess.Popen(["/usr/bin/python3", "-c", TARGET, "%s-%s" % (self.lanes[0].marker, name)])
                   for name in ("one", "two")]
        try:
            with self.receiver:
                yield self
        finally:
            for target in targets:
                target.kill()
                target.wait()

    def _each_lane(self, do):
        """do(lane) in a thread for each; the first failure is raised."""
        failures = []

        def run(lane):
            try:
                do(lane)
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(lane,)) for lane in self.lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def kill(self, count, said=lambda done: None):
        """Kills agents at `count` random moments, shared between the lanes."""
        def run(lane):
            for _ in range(lane.number, count, len(self.lanes)):
                with self._lock:
                    moment_s = self.random.uniform(0, LIFE_MAX_S)
                lane.kill_after(moment_s)
                with self._lock:
                    self.count += 1
                    said(self.count)

        self._each_lane(run)

    def kill_at_calls(self, calls, said=lambda call, number: None):
        """Kills the agents at these system calls, shared between the lanes."""
        def run(lane):
            for call, number in calls[lane.number::len(self.lanes)]:
                lane.kill_at(call, number)
                with self._lock:
                    self.count += 1
                    said(call, number)

        self._each_lane(run)

    def drain(self):
        self._each_lane(Lane.drain)

    # What is asked when all is over.

    def lost(self):
        """What was on disk after some kill, never came and is there no more."""
        kept = set().union(*(life.kept for lane in self.lanes for life in lane.lives))
        waiting = set().union(*(lane.lives[-1].kept for lane in self.lanes))
        return list(kept - waiting - set(self.receipts))

    def twice(self):
        """[(key, seconds between its first receipt and the kill of who sent it)] of what came more than once."""
        return [(key, self.lanes[key.lane].lives[receipts[0].sender].ended - receipts[0].received)
                for key, receipts in self.receipts.items() if len(receipts) > 1]

    def twice_without_a_kill(self):
        """What one life sent twice, although it had its answer."""
        return [key for key, receipts in self.receipts.items()
                if len({receipt.sender for receipt in receipts}) < len(receipts)]

    def bad(self):
        """Files that were set aside or left half written."""
        return [os.path.join(folder, name) for lane in self.lanes for folder, _, names in os.walk(lane.spool)
                for name in names if os.path.basename(folder) == "bad" or name.endswith(".tmp")]

    def _of_lives(self):
        """{(lane, life): {(service, kind): [(start, end)] in order}} of what came."""
        lives = collections.defaultdict(lambda: collections.defaultdict(list))
        for key in sorted(self.receipts, key=lambda key: key.start_ns):
            lives[key.lane, key.life][key.service, key.kind].append((key.start_ns / 1e9, self.receipts[key][0].end))
        return lives

    def gaps(self):
        """[seconds] between two profiles of one life that follow each other."""
        return [after[0] - before[1] for series in self._of_lives().values() for times in series.values()
                for before, after in zip(times, times[1:])]

    def unsent(self):
        """[seconds] of each killed life that no profile covers: from its last one's end to its own."""
        return [self.lanes[lane].lives[life].ended - max(times[-1][1] for times in series.values())
                for (lane, life), series in self._of_lives().items()]


def report(kills, seconds):
    """Prints what became of all; gives the number of findings."""
    twice, unsent, gaps = kills.twice(), kills.unsent(), kills.gaps()
    print("%d kills in %.0f s; %d profiles came" % (kills.count, seconds, len(kills.receipts)))
    print("on disk and lost: %d; set aside or half written: %d" % (len(kills.lost()), len(kills.bad())))
    print("twice: %d, the answer at most %.2f s before the kill; twice without a kill: %d"
          % (len(twice), max([age for _, age in twice], default=0), len(kills.twice_without_a_kill())))
    print("not covered at the end of a life: at most %.2f s; within one: at most %.2f s"
          % (max(unsent, default=0), max(gaps, default=0)))
    findings = [
        ("profiles that were on disk were lost", kills.lost()),
        ("files were set aside", kills.bad()),
        ("profiles came twice though nobody was killed", kills.twice_without_a_kill()),
        ("more profiles came twice than agents were killed", twice if len(twice) > kills.count else []),
        # One interval may be on its way to the disk.
        ("more than the running interval was lost", [one for one in unsent if one > 2 * INTERVAL_S]),
        ("profiles are missing within a life", [one for one in gaps if one > INTERVAL_S / 2]),
        ("requests were wrong", kills.receiver.errors),
    ]
    for words, found in findings:
        if found:
            print("kills: %s: %d, as %s" % (words, len(found), found[0]))
    return sum(1 for _, found in findings if found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--lanes", type=int, default=4, help="agents at once")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", action="store_true", help="keep the spools and logs")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pystrobe-kills-")
    kills = Kills(options.build, live.Pystrobe(os.path.join(os.path.abspath(options.build), "pystrobe")), folder,
                  options.lanes, options.seed)
    print("kills: seed %d, %s" % (options.seed, folder), flush=True)
    started = time.monotonic()
    with kills.running():
        if shutil.which("strace"):
            kills.kill_at_calls(DISK_CALLS, lambda call, number: print("kills: at %s %d" % (call, number), flush=True))
        kills.kill(options.kills, lambda done: done % 50 == 0 and print("kills: %d" % done, flush=True))
        kills.drain()
    failed = report(kills, time.monotonic() - started)
    if not failed and not options.keep:
        shutil.rmtree(folder)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
