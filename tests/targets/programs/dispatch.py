# SPDX-License-Identifier: Apache-2.0
"""Runs code that has no file in a process of its own."""

import subprocess
import sys

import side_work  # noqa: F401

subprocess.run([sys.executable, "-c", "import side_work, time; time.sleep(120)", "--token", "s3cr3t-value"])
