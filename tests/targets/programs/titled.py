# SPDX-License-Identifier: Apache-2.0
"""Gives itself a title that has a secret, after some SECONDS: titled.py SECONDS."""

import sys
import time

import setproctitle

import side_work  # noqa: F401

time.sleep(float(sys.argv[1]))
setproctitle.setproctitle("reports: worker for postgres://u:s3cr3t-value@h/x")
time.sleep(120)
