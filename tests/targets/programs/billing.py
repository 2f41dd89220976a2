# SPDX-License-Identifier: Apache-2.0
"""A script that runs for two minutes, whatever its arguments are."""

import time

import side_work  # noqa: F401

time.sleep(120)
