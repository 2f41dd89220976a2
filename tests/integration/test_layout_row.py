# SPDX-License-Identifier: Apache-2.0
"""unwind/layouts/layouts.c says what the headers say of each version that has them here."""

import glob
import os
import subprocess
import sys

import pytest

import live

sys.path.insert(0, os.path.join(live.TESTS, "tools"))
import layout_row  # noqa: E402

pytestmark = pytest.mark.tools

PRINT_LAYOUT = os.path.join(os.environ.get("PYSTROBE_BUILD", "build"), "tests", "tools", "print_layout")
FIRST_WITH_OFFSETS = layout_row.FIRST_WITH_OFFSETS
SOURCES = [python for python in live.load_pythons()[0] if layout_row.headers_of(python)]
LATER = [python for python in SOURCES if layout_row.headers_of(python)[0] >= FIRST_WITH_OFFSETS]

# What headers do not say: where only code has it (the values of a split dict, a managed dict, the
# variable interp_head of 3.6), and numbers that a row has but the version does not use.
NOT_IN_HEADERS = {minor: {"shim_owner", "status_bound", "status_cleared", "monitoring.lines",
                          "monitoring.per_instruction_opcodes"} for minor in range(6, 12)}
for before_3_11 in range(6, 11):
    NOT_IN_HEADERS[before_3_11] |= {"cframe.current_frame", "generator_owner", "dict.values_skip"}
NOT_IN_HEADERS[6] |= {"runtime.interpreters_head"}
NOT_IN_HEADERS[11] |= {"dict.managed"}
NOT_IN_HEADERS[12] = {"dict.managed"}


def fields_of(text):
    """{name: number} of lines ".name = number,"."""
    pairs = [line.strip(" .,").split(" = ") for line in text.splitlines()]
    return {name: int(number) for name, number in pairs}


def in_use(minor, free_threaded):
    """What the unwinder has for that version."""
    words = [str(minor)]
    if minor >= FIRST_WITH_OFFSETS:
        words = glob.glob(os.path.join(live.TESTS, "golden", "unwind", "3.%d.*-debian.img" % minor))[:1]
    done = subprocess.run([PRINT_LAYOUT] + words + ["ft"] * free_threaded, stdout=subprocess.PIPE, check=True)
    return fields_of(done.stdout.decode())


def told_by_headers(source, free_threaded):
    minor, include = layout_row.headers_of(source)
    return minor, fields_of(layout_row.row_of(minor, include, free_threaded))


@pytest.mark.parametrize("source", SOURCES, ids=[python["id"] for python in SOURCES])
def test_a_layout_is_that_of_the_versions_headers(source):
    minor, told = told_by_headers(source, False)
    ours = in_use(minor, False)
    assert {name: ours.get(name) for name in told} == told
    if minor < FIRST_WITH_OFFSETS:  # nothing in the row is from elsewhere
        assert set(ours) - set(told) == NOT_IN_HEADERS[minor]


@pytest.mark.parametrize("source", LATER, ids=[python["id"] for python in LATER])
def test_the_layout_of_a_free_threaded_build_is_that_of_the_headers(source):
    minor, told = told_by_headers(source, True)
    ours = in_use(minor, True)
    del told["unicode.compact_data"]  # comes with the table, here that of a build with a GIL
    told.pop("code.version", None)  # without a GIL two code objects may get the same number
    assert {name: ours.get(name) for name in told} == told
