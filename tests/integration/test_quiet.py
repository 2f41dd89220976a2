# SPDX-License-Identifier: Apache-2.0
"""A program that stands still must look the same in every sample, and as it says of itself."""

import pytest
import samples

SAMPLES = 200


def own_view(own):
    return {
        thread["tid"]: dict(thread, name=thread["name"] or None)
        for interpreter in own["interpreters"] for thread in interpreter["threads"]
    }


@pytest.mark.parametrize("layers", ([], ["plain"]), ids=("all layers", "plain"))
def test_all_samples_of_a_program_that_stands_still_equal_its_own_view(python, start_quiet, layers):
    own = start_quiet(python, "frames.py", "--warm", 100)
    wanted = own_view(own)

    found = samples.take(own["pid"], SAMPLES, 0, "opcodes", *layers)

    assert [sample.times for sample in found] == [SAMPLES], "; ".join(
        "%d times:\n%s" % (sample.times, sample.text) for sample in found)
    seen = {tid: thread for tid, thread in found[0].threads.items() if tid not in own["ignore"]}
    assert sorted(seen) == sorted(wanted)
    for tid, thread in wanted.items():
        assert seen[tid]["frames"] == thread["frames"]
        assert (seen[tid]["name"], seen[tid]["main"]) == (thread["name"], thread["main"])
        assert not seen[tid]["torn"] and not seen[tid]["cut"]
        assert "gil" not in seen[tid]["status"] and "cpu" not in seen[tid]["status"]
