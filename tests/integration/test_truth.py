# SPDX-License-Identifier: Apache-2.0
"""The truth tests themselves: that their checker and bars catch what they are there for."""

import os
import sys

import pytest

import live

sys.path.insert(0, os.path.join(live.TESTS, "truth"))
import limits  # noqa: E402
import checker  # noqa: E402
import programs  # noqa: E402
import run  # noqa: E402
import stats  # noqa: E402

SOURCE = """\
import board

def leaf(x):
    y = x
    return y

def other(x):
    return x

def middle(x):
    a = leaf(x)  # call: leaf
    b = other(x)  # call: other via: top
    return a + b

def top():  # share: most
    return middle(1)  # call: middle

def again():  # share: some
    middle(2)  # call: middle
    board.help()  # call: <library>

def called_back():  # from: library
    leaf(3)  # call: leaf

def worker():  # root
    top()  # call: <share>

made()  # call: <made>
top()  # call: top
again()  # call: again
"""
MADE = "def inner_{g}():\n    return 1\n\ndef outer_{g}():  # from: library\n    inner_{g}()  # call: inner_{g}\n"
FILE, LIBRARY = "/p/program.py", "/usr/lib/python3/board.py"
MODULE, TOP, AGAIN = ("<module>", FILE, 29), ("top", FILE, 16), ("again", FILE, 19)


def source_of(file):
    return MADE.format(g=file[5:]) if file.startswith("made-") else None


def judged(*stacks, minor=15):
    """The verdict on stacks, root first; a frame is (name, file, line) and perhaps a first line."""
    found = {"functions": [], "nodes": [], "stacks": []}
    for number, stack in enumerate(stacks):
        node = -1
        for frame in stack:
            found["functions"].append([frame[0], frame[1], frame[3] if len(frame) > 3 else None])
            found["nodes"].append([node, len(found["functions"]) - 1, frame[2]])
            node = len(found["nodes"]) - 1
        found["stacks"].append([1, node, 1, 10, number, number])
    return checker.judge(checker.Checker({FILE: SOURCE}, minor, source_of), found)


POSSIBLE = [
    [MODULE],
    [("<module>", FILE, 0)],
    [MODULE, ("top", FILE, 15)],
    [MODULE, TOP, ("middle", FILE, 11), ("leaf", FILE, 5, 3)],
    [MODULE, TOP, ("middle", FILE, 12), ("other", FILE, 8)],
    [("worker", FILE, 26), TOP],
    [("<module>", FILE, 30), ("again", FILE, 20), ("help", LIBRARY, 7), ("called_back", FILE, 23), ("leaf", FILE, 4)],
    [("<module>", FILE, 28), ("outer_7", "made-7", 5), ("inner_7", "made-7", 2)],
]
IMPOSSIBLE = [
    ("no such function", [MODULE, ("gone", FILE, 16)]),
    ("foreign file", [MODULE, ("top", "\x01\x02", 16)]),
    ("foreign file", [MODULE, ("top", LIBRARY, 0)]),
    ("no line", [MODULE, ("top", FILE, 0)]),
    ("no line", [MODULE, ("top", FILE, -1)]),
    ("line outside of its function", [MODULE, ("top", FILE, 19)]),
    ("line outside of its function", [MODULE, ("top", FILE, 14)]),
    ("line outside of its function", [MODULE, ("top", FILE, 999)]),
    ("another function's first line", [MODULE, ("top", FILE, 16, 10)]),
    ("does not begin at the root", [TOP]),
    ("does not begin at the root", [("help", LIBRARY, 7), TOP]),
    ("call that cannot be", [MODULE, ("leaf", FILE, 5)]),
    ("call that cannot be", [MODULE, ("help", LIBRARY, 7)]),
    ("call from a line without it", [("<module>", FILE, 30), TOP]),
    ("call from a line without it", [MODULE, TOP, ("middle", FILE, 13), ("leaf", FILE, 5)]),
    ("call from a line without it", [MODULE, TOP, ("middle", FILE, 12), ("leaf", FILE, 5)]),
    ("call for another caller", [("<module>", FILE, 30), AGAIN, ("middle", FILE, 12), ("other", FILE, 8)]),
    ("called by a library", [("<module>", FILE, 30), ("again", FILE, 20), ("help", LIBRARY, 7), TOP]),
    ("call that cannot be", [("<module>", FILE, 28), ("outer_7", "made-7", 5), ("inner_8", "made-8", 2)]),
    ("no such function", [("<module>", FILE, 28), ("outer_7", "made-8", 5)]),
    ("call that cannot be", [("<module>", FILE, 28), ("inner_7", "made-7", 2)]),
    ("call from a line without it", [MODULE, ("outer_7", "made-7", 5)]),
    ("empty", []),
]


@pytest.mark.parametrize("stack", POSSIBLE)
def test_a_possible_stack_passes(stack):
    verdict = judged(stack)

    assert verdict["kinds"] == {}
    assert verdict["shown"] == 1


@pytest.mark.parametrize("fault, stack", IMPOSSIBLE)
def test_an_impossible_stack_is_caught_and_named(fault, stack):
    verdict = judged(stack, POSSIBLE[3])

    assert verdict["kinds"] == {fault: 1}
    assert (verdict["impossible"], verdict["shown"]) == (1, 2)


def test_a_fault_is_counted_once_wherever_it_lies():
    broken = [TOP, ("middle", FILE, 13), ("leaf", FILE, 99)]

    assert judged(broken)["kinds"] == {"does not begin at the root": 1}


def test_the_share_of_a_stack_is_that_of_its_outermost_mark():
    verdict = judged(POSSIBLE[3], POSSIBLE[4], POSSIBLE[6], POSSIBLE[0])

    assert verdict["shares"] == {"1": {"most": 20, "some": 10}}


def test_a_mark_where_there_is_no_code_is_refused():
    with pytest.raises(ValueError, match="marks on lines without code"):
        checker.Source("if 1:\n    pass\n\nelse:  # call: nothing\n    pass\n", 15)


def test_a_generation_that_is_shown_after_a_newer_one_is_stale():
    def found(*seen):
        return {"functions": [["f", "made-%d" % g, None] for g, _, _ in seen],
                "nodes": [[-1, n, 1] for n in range(len(seen))],
                "stacks": [[1, n, 1, 1, first, last] for n, (_, first, last) in enumerate(seen)]}

    def generation_of(file):
        return int(file[5:])

    assert checker.count_stale(found((1, 10, 20), (2, 21, 21), (5, 30, 40)), generation_of) == 0
    assert checker.count_stale(found((1, 10, 35), (2, 21, 21), (5, 30, 40)), generation_of) == 1
    assert checker.count_stale(found((5, 10, 10), (2, 21, 21), (1, 30, 40)), generation_of) == 2


@pytest.mark.parametrize("minor", [8, 10, 11, 12, 15])
@pytest.mark.parametrize("name", sorted(programs.RECIPES))
def test_the_marks_of_each_program_are_whole(name, minor):
    recipe = programs.RECIPES[name]

    known = checker.Checker(recipe.texts(), minor, recipe.source_of())

    names = {name for source in known.sources.values() for name in source.functions}
    names |= {function.name for source in known.sources.values() for functions in source.functions.values()
              for function in functions}
    for source in known.sources.values():
        for functions in source.functions.values():
            for function in functions:
                called = {callee for calls in function.calls.values() for callee in calls}
                assert {c for c in called if c not in ("<share>", "<library>", "<made>", "<listcomp>")} <= names
    assert bool(known.share_of) != recipe.made


def test_made_sources_tell_their_generation_and_have_whole_marks():
    for prefix in programs.churn_text.KINDS:
        for generation in (0, 1, 12345):
            text = programs.churn_text.source_of("%s%d" % (prefix, generation))
            assert checker.Source(text, 15).functions
            assert programs.churn_text.generation_of("%s%d" % (prefix, generation)) == generation
    assert programs.churn_text.source_of("churn-module-x") is None


def test_a_share_that_is_off_by_three_standard_errors_fails_and_chance_does_not():
    error = (0.7 * 0.3 / 10000) ** 0.5

    assert stats.z_of_share(0.7 + 2.9 * error, 10000, 0.7, 0) == pytest.approx(2.9)
    assert limits.clears_shares(2.9, 3, 3.0, False) and not limits.clears_shares(-3.1, 3, 3.0, False)
    assert limits.clears_shares(4.5, 3, 3.0, True) and not limits.clears_shares(-5.5, 3, 3.0, True)
    assert abs(stats.z_of_share(0.7 + 2.9 * error, 10000, 0.7, error)) < 2.9


def test_the_tail_and_quantile_are_those_of_the_tables():
    assert stats.poisson_tail(3, 1) == pytest.approx(0.0803014, abs=1e-6)
    assert stats.poisson_tail(10, 2.5) == pytest.approx(0.000276, abs=1e-5)
    assert stats.poisson_tail(0, 5) == 1.0 and stats.poisson_tail(1, 0) == 0.0
    assert stats.z_for(0.0027) == pytest.approx(3.0, abs=0.001)
    assert stats.z_for(1e-6) == pytest.approx(4.8916, abs=0.001)


def test_rates_are_held_to_their_bar_or_to_what_chance_allows():
    assert limits.clears_rate(0, 200000, 0.0, False) and not limits.clears_rate(1, 10, 0.0, True)
    assert limits.clears_rate(3, 200000, 20e-6, False) and not limits.clears_rate(4, 200000, 20e-6, False)
    assert limits.clears_rate(2, 10000, 20e-6, False) and not limits.clears_rate(4, 10000, 20e-6, False)
    assert limits.clears_rate(3, 10000, 20e-6, True) and not limits.clears_rate(7, 10000, 20e-6, True)
    assert limits.clears_rate(9, 2000, 0.005, False) and not limits.clears_rate(10, 2000, 0.005, False)


def test_a_second_run_is_for_what_chance_may_do_only():
    assert not limits.worth_a_second_run(2.9, 3.0, False)
    assert limits.worth_a_second_run(-3.1, 3.0, False)
    assert not limits.worth_a_second_run(9.0, 3.0, False)
    assert not limits.worth_a_second_run(3.1, 3.0, True)


def test_each_planned_run_has_a_bar_and_names_a_program():
    for program, placement, _, _, _ in run.PLAN:
        assert program in programs.RECIPES
        for minor in (8, 11, 15):
            promised = placement in limits.MOVABLE + ("moved",) and (program not in limits.MORE or minor >= 14)
            promised |= (program, placement) == ("sleepers", "plain")  # it stands still
            assert ("impossible" in limits.of(program, minor, placement)) == promised
    assert limits.of("edges", 11, "apart")["impossible"] == (0.0, "0")
    assert limits.of("edges", 10, "apart")["impossible"][0] == 20e-6
    assert "shares" not in limits.of("edges", 11, "pinned")


def test_the_command_line_is_understood(monkeypatch):
    monkeypatch.setattr("sys.argv", ["run.py", "--programs", "edges", "--placements", "apart,pinned", "--rates", "100"])

    plan = run.plan_of(run.parse_options())

    assert list(plan) == ["edges"]
    assert {(place, rate) for place, rate, _ in plan["edges"]} == {("apart", 100.0), ("pinned", 100.0)}


def test_the_measured_truth_takes_the_cost_of_timing_off():
    before, after = [0] * 512, [0] * 512
    after[0:3], after[3:6] = [7000 + 10 * 50, 6900, 10], [3000 + 20 * 50, 3000, 20]

    truth = stats.true_shares(before, after, ["most", "some"], 1, 48, 3, 50)

    assert truth["most"]["wall"] == pytest.approx(0.7)
    assert truth["most"]["cpu"] == pytest.approx(6900 / 9900)
    assert 0 < truth["most"]["error"] < 0.1
