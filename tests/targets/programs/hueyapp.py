# SPDX-License-Identifier: Apache-2.0
"""Tasks of Huey, in a file of SQLite."""

import os

from huey import SqliteHuey

import side_work  # noqa: F401

huey = SqliteHuey("shop", filename=os.path.join(os.path.dirname(os.path.abspath(__file__)), "huey.db"))


@huey.task()
def order():
    return 1
