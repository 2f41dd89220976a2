# SPDX-License-Identifier: Apache-2.0
"""A job of RQ."""

import time


def order():
    import side_work  # noqa: F401

    time.sleep(4)
