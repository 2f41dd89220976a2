# SPDX-License-Identifier: Apache-2.0
"""Spins in one function until it is killed: what the service is to see from outside."""


def spin_here():
    count = 0
    while True:
        count += 1


spin_here()
