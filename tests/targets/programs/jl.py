# SPDX-License-Identifier: Apache-2.0
"""Workers of joblib, by loky."""

import time

import joblib


def price(number):
    import side_work  # noqa: F401

    time.sleep(1)
    return number


if __name__ == "__main__":
    joblib.Parallel(n_jobs=2)(joblib.delayed(price)(number) for number in range(240))
