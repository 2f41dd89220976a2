# SPDX-License-Identifier: Apache-2.0
"""A pool of multiprocessing: pool_of.py METHOD [--token TOKEN]."""

import multiprocessing
import sys
import time


def price(number):
    import side_work  # noqa: F401

    time.sleep(1)
    return number


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(price, range(240), 1)
