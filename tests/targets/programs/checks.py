# SPDX-License-Identifier: Apache-2.0
"""Tests for pytest."""

import time

import pytest

import side_work  # noqa: F401


@pytest.mark.parametrize("number", range(240))
def test_shop(number):
    time.sleep(1)
