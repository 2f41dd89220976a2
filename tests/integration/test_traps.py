# SPDX-License-Identifier: Apache-2.0
"""What other readers have stumbled over: names, depths and tables that are out of the ordinary."""

import json

import live
import samples

NAME_MAX = 4096  # characters that are kept
DEPTHS = ["deep_4000", "deep_4096", "deep_4097", "deep_5000"]


def dump(pystrobe, pid):
    """{tid: thread}; the JSON must be strict UTF-8."""
    done = pystrobe.run("dump", "--pid", pid, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    return {thread["tid"]: thread for interpreter in document["interpreters"] for thread in interpreter["threads"]}


def shown(name):
    """How a name is shown that no UTF-8 text can have, or that is too long."""
    text = "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in name)
    return text if len(text) <= NAME_MAX else text[:NAME_MAX] + "..."


def test_a_kernel_name_with_a_bracket_does_not_bend_the_status(python, pystrobe, start):
    own = start(python, "traps.py", "kernel_name_that_runs", "kernel_name_that_sleeps").read_json()
    waits, spins = (own["threads"][trap]["tid"] for trap in ("kernel_name_that_runs", "kernel_name_that_sleeps"))
    with open("/proc/%d/task/%d/comm" % (own["pid"], waits), encoding="ascii") as file:
        assert file.read() == "a) R 1\n"

    live.wait_until_asleep(own["pid"], [own["main"], waits])

    found = samples.take_until(lambda found: samples.times(found, spins, "cpu") >= 5, own["pid"], 700)

    for sample in found:
        assert sample.threads[waits]["status"] == []
        assert samples.holders(sample) == [spins]


def test_a_line_table_over_40_kb_gives_the_line(python, pystrobe, start):
    own = start(python, "traps.py", "long_line_table").read_json()
    thread = own["threads"]["long_line_table"]
    assert thread["frames"][1]["line"] == 30002

    seen = dump(pystrobe, own["pid"])

    assert seen[thread["tid"]]["frames"] == thread["frames"]


def test_names_of_any_characters_are_shown_as_utf_8(python, pystrobe, start):
    own = start(python, "traps.py", "strange_names").read_json()
    thread = own["threads"]["strange_names"]

    seen = dump(pystrobe, own["pid"])[thread["tid"]]

    assert seen["frames"] == [dict(frame, func=shown(frame["func"])) for frame in thread["frames"]]
    assert "nul\ufffdname" in [frame["func"] for frame in seen["frames"]]


def test_deep_recursion_is_shown_whole_up_to_4096_frames_and_then_marked_as_cut(python, pystrobe, start):
    own = start(python, "traps.py", *DEPTHS).read_json()

    seen = dump(pystrobe, own["pid"])

    assert [own["threads"][trap]["depth"] for trap in DEPTHS] == [4000, 4096, 4097, 5000]
    for trap in DEPTHS:
        thread = own["threads"][trap]
        assert seen[thread["tid"]]["frames"] == thread["frames"], trap
        assert seen[thread["tid"]]["cut"] == (thread["depth"] > 4096), trap
        assert not seen[thread["tid"]]["torn"], trap


def test_the_text_says_that_a_stack_is_cut(python, pystrobe, start):
    own = start(python, "traps.py", "deep_5000").read_json()

    done = pystrobe.run("dump", "--pid", own["pid"])

    assert done.returncode == 0
    assert done.stdout.count("deeper than 4096 frames: the oldest calls are not shown") == 1
