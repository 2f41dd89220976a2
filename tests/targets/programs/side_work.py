# SPDX-License-Identifier: Apache-2.0
"""Importing this makes a process, and each one that is forked from it, use a tenth of a CPU beside all else it does."""

import os
import threading
import time

BURN_S, CYCLE_S = 0.01, 0.1


def burn():
    end = time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) + BURN_S
    while time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) < end:
        sum(range(1000))


def work():
    while True:
        burn()
        time.sleep(CYCLE_S - BURN_S)


def begin():
    threading.Thread(target=work, name="side work", daemon=True).start()


begin()
os.register_at_fork(after_in_child=begin)
