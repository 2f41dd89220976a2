# SPDX-License-Identifier: Apache-2.0
"""Asks setproctitle for the title, which makes one string of the command line."""

import time

import setproctitle

import side_work  # noqa: F401

setproctitle.getproctitle()
time.sleep(120)
