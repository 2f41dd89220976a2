# SPDX-License-Identifier: Apache-2.0
"""A pool of concurrent.futures."""

import concurrent.futures
import time


def price(number):
    import side_work  # noqa: F401

    time.sleep(1)
    return number


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        list(pool.map(price, range(240)))
