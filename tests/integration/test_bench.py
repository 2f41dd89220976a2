# SPDX-License-Identifier: Apache-2.0
"""The figures, bars, tables, drawings and counts of tests/bench, without any target."""

import os
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import live

sys.path.insert(0, os.path.join(live.TESTS, "bench"))
import bars  # noqa: E402
import figures  # noqa: E402
import neighbours  # noqa: E402
import plot  # noqa: E402
import scale  # noqa: E402
import scale_agent  # noqa: E402
import scale_record  # noqa: E402
import sides  # noqa: E402
import straced  # noqa: E402
import table  # noqa: E402

pytestmark = pytest.mark.tools

# Figures.


def test_quantiles_are_the_least_ns_that_enough_calls_stay_below():
    histogram = figures.merge([[[10, 49], [20, 50], [500, 1]]])

    assert figures.quantile(histogram, 0.49) == 10
    assert figures.quantile(histogram, 0.5) == 20
    assert figures.quantile(histogram, 0.99) == 20
    assert figures.quantile(histogram, 1) == 500


def test_quantiles_of_nothing_are_nothing():
    assert figures.quantile(figures.merge([]), 0.5) is None
    assert figures.mean(figures.merge([[]])) is None


def test_histograms_of_several_rounds_are_added_up():
    merged = figures.merge([[[10, 1], [20, 2]], [[20, 3]]])

    assert merged == {10: 1, 20: 5}
    assert figures.mean(merged) == pytest.approx(110 / 6)


def a_round(ns, **more):
    calls = sum(times for _, times in ns)
    return dict({"calls": calls, "whole": calls, "failed": 0, "empty": 0, "looked_at": 1, "sizes": [2, 8, 0],
                 "ns": ns}, **more)


def test_a_side_has_the_shares_and_medians_of_all_its_rounds():
    side = figures.of_rounds([a_round([[1000, 3]]), a_round([[3000, 1]], whole=0, failed=1, sizes=[4, 10, 0])])

    assert (side["calls"], side["whole"], side["failed"]) == (4, 3, 1)
    assert side["share"] == 0.75
    assert (side["p50_us"], side["p99_us"], side["mean_us"]) == (1, 3, 1.5)
    assert (side["threads"], side["frames"]) == (3, 9)


def test_a_side_that_never_called_has_no_figures():
    side = figures.of_rounds([a_round([], looked_at=0, sizes=[0, 0, 0])])

    assert side["p50_us"] is None
    assert side["share"] == 0


def test_where_only_some_threads_are_asked_for_none_is_an_answer():
    rounds = [a_round([[1000, 4]], whole=1, empty=2, failed=1)]

    assert figures.of_rounds(rounds, "wall")["share"] == 0.25
    assert figures.of_rounds(rounds, "gil")["share"] == 0.75


def test_counters_are_given_for_one_sample():
    rounds = [a_round([[1, 4]], stats={"reads": 6}, allocations=1), a_round([[1, 4]], stats={"reads": 2}, allocations=0)]

    assert figures.stats_per_sample(rounds) == ({"reads": 1}, 0.125)


def test_the_ratio_is_that_of_the_medians():
    assert figures.ratio_of({"p50_us": 6}, {"p50_us": 1.5}) == 4
    assert figures.ratio_of(None, {"p50_us": 1.5}) is None
    assert figures.ratio_of({"p50_us": 6}, {"p50_us": None}) is None


COST = {"bytes": 96, "readv_ns": 600, "pread_ns": 500, "word_readv_ns": 550, "word_pread_ns": 450, "clock_ns": 20}


def test_the_floor_is_the_cheapest_call_that_could_carry_what_changed():
    floor = figures.floor_of(COST, 95.6, 2.0)

    assert (floor["call"], floor["us"], floor["word_us"]) == ("pread", 0.5, 0.45)
    assert floor["distance"] == 4


def test_a_call_that_is_forbidden_is_no_floor():
    floor = figures.floor_of(dict(COST, pread_ns=0, word_pread_ns=0), 8, 2.4)

    assert (floor["call"], floor["distance"], floor["word_us"]) == ("process_vm_readv", 4, 0.55)
    assert figures.floor_of(COST, None, 2.0) is None


# Bars.


def test_without_words_all_rows_that_have_a_bar_are_measured():
    assert sorted(bars.rows()) == sorted(bars.BARS)


def test_a_workload_brings_all_its_operations():
    assert [bar.operation for bar in bars.rows(["async100"])] == ["async", "all-tasks"]


def test_an_operation_leaves_out_what_has_no_tasks():
    assert {bar.workload for bar in bars.rows(operation="all-tasks")} == {"async10", "async100", "async1000"}


def test_what_no_bar_is_about_is_measured_without_one():
    assert bars.rows(["threads=50"]) == [bars.Bar("threads=50", "stack", None, None)]
    assert bars.rows(["tasks=7"]) == [bars.Bar("tasks=7", "all-tasks", None, None)]
    assert bars.rows(["async10"], "stack") == [bars.Bar("async10", "stack", None, None)]


def test_other_modes_have_no_bars():
    assert bars.rows(["busy"], mode="cpu") == [bars.Bar("busy", "stack", None, None)]


def test_workloads_are_known_by_name_or_by_kind_and_number():
    assert bars.is_known("busy") and bars.is_known("threads=1000")
    assert not any(map(bars.is_known, ("lazy", "threads", "threads=", "threads=many", "busy=1")))


def test_a_bar_is_reached_at_exactly_what_it_asks_for():
    bar = bars.Bar("busy", "stack", 1.7, 0.999)

    assert bars.verdict(bar, 1.7, 0.999) == {"ratio": True, "share": True, "status": None}
    assert bars.verdict(bar, 1.69, 0.9989, 9) == {"ratio": False, "share": False, "status": None}
    assert bars.verdict(bar, None, 1) == {"ratio": None, "share": True, "status": None}
    assert bars.verdict(bars.Bar("depth=3", "stack", None, None), 0.1, 0) == {"ratio": None, "share": None, "status": None}


def test_a_bar_of_the_status_is_reached_at_exactly_what_it_asks_for():
    bar = bars.Bar("threads100_idle", "stack", None, None, 6)

    assert [bars.verdict(bar, None, 1, us)["status"] for us in (6, 6.01, None)] == [True, False, None]


# Who runs where.


def entry(version, **more):
    return dict({"version": version, "debug": False, "free_threaded": False, "id": version}, **more)


def test_the_newest_release_build_is_the_target():
    found = [entry("3.9.18"), entry("3.15.2"), entry("3.15.2", debug=True), entry("3.10.1"),
             entry("3.15.3", free_threaded=True)]

    assert sides.choose_python(found) is found[1]
    assert sides.choose_python(found, "3.10") is found[3]
    assert sides.choose_python(found, "3.1") is None


def test_the_target_has_its_own_cpus():
    assert sides.cpus_for("target", "apart", {0, 1, 2, 3}) == [0, 1, 2]
    assert sides.cpus_for("reader", "apart", {0, 1, 2, 3}) == [3]
    assert sides.cpus_for("target", "same", {4, 5}) == sides.cpus_for("reader", "same", {4, 5}) == [4]
    assert sides.cpus_for("target", "any", {0, 1}) is None
    assert sides.cpus_for("reader", "apart", {0}) is None


def test_a_python_is_asked_for_what_it_has_only():
    assert sides.is_able(entry("3.6.15"), "busy", "stack")
    assert not sides.is_able(entry("3.6.15"), "async10", "stack")
    assert not sides.is_able(entry("3.7.16"), "subinterp3", "stack")
    assert not sides.is_able(entry("3.13.0"), "async10", "all-tasks")
    assert sides.is_able(entry("3.14.0"), "tasks=10", "async")


# What strace wrote.

TRACE = """\
1234  execve("/build/bench", ["bench"], 0x7ffd /* 9 vars */) = 0
openat(AT_FDCWD, "/proc/9/maps", O_RDONLY|O_CLOEXEC) = 4
getsid(0)                               = 1
process_vm_readv(9, [{iov_base=""..., iov_len=88}], 1, [{iov_base=0x7f01, iov_len=88}], 1, 0) = 88
getsid(0)                               = 1
write(1, ""..., 31)                     = 31
getsid(0)                               = 1
process_vm_readv(9, [{iov_base=""..., iov_len=8}, {iov_base=""..., iov_len=80}], 2, [{iov_base=0x7f01, iov_len=8}, \
{iov_base=0x7f11, iov_len=80}], 2, 0) = 88
process_vm_readv(9, [{iov_base=0x1, iov_len=8}], 1, [{iov_base=0x7f01, iov_len=8}], 1, 0) = -1 EFAULT (Bad address)
pread64(5, ""..., 16, 0)                = 16
getsid(0)                               = 1
"""


def test_what_lies_between_the_last_two_markers_is_counted_for_a_sample():
    counted = straced.per_sample(TRACE, 2)

    assert counted["by_name"] == {"process_vm_readv": 1, "pread64": 0.5}
    assert (counted["system_calls"], counted["iovecs"], counted["bytes"]) == (1.5, 2, 52)


def test_a_trace_without_two_markers_is_no_count():
    with pytest.raises(ValueError):
        straced.per_sample("getsid(0) = 1\n", 1)


def test_harmless_calls_are_not_held_against_anybody():
    assert straced.forbidden_in(TRACE) == []


def test_what_would_harm_a_target_is_found_wherever_it_is():
    harm = ('process_vm_writev(9, [{iov_base="x", iov_len=1}], 1, [{iov_base=0x1, iov_len=1}], 1, 0) = 1\n'
            '77    ptrace(PTRACE_SEIZE, 9, NULL, 0) = 0\nopenat(3, "mem", O_RDWR|O_CLOEXEC) = 4\n')

    assert straced.forbidden_in(harm + TRACE) == ["openat(mem, writable)", "process_vm_writev", "ptrace"]


# Drawings.


def test_an_axis_has_all_the_decades_of_its_values():
    assert plot.decades([1, 1000]) == (0, 3)
    assert plot.decades([0.5, 11]) == (-1, 2)
    assert plot.decades([10]) == (1, 2)


def test_a_decade_is_as_wide_as_any_other():
    assert plot.scale(1, (0, 3), 100, 400) == 100
    assert plot.scale(10, (0, 3), 100, 400) == pytest.approx(200)
    assert plot.scale(1000, (0, 3), 100, 400) == pytest.approx(400)
    assert plot.scale(100, (0, 2), 300, 50) == pytest.approx(50)


def drawn():
    panels = [{"title": "Threads & more", "axis": "threads", "lines": {"ours": [(1, 2), (1000, 3)], "peer": [(1, 900)]}},
              {"title": "Depth", "axis": "frames", "lines": {}}]
    return ElementTree.fromstring(plot.svg(panels, "Cost <of a sample>"))


def test_a_drawing_says_what_it_shows():
    words = [element.text for element in drawn().iter("{http://www.w3.org/2000/svg}text")]

    for wanted in ("Cost <of a sample>", "Threads & more", "threads", "ours", "peer", "1,000", "median of a call, µs",
                   "not measured"):
        assert wanted in words


def test_every_point_has_its_mark_inside_the_axes():
    circles = [(float(one.get("cx")), float(one.get("cy"))) for one in drawn().iter("{http://www.w3.org/2000/svg}circle")]

    left, right = plot.LEFT, plot.WIDTH - plot.RIGHT
    inside = [place for place in circles if place[1] > plot.TOP - 1]
    assert len(inside) == 2 and len(circles) == 3  # one is in the legend
    assert [place[0] for place in inside] == [left, right]
    assert inside[0][1] > inside[1][1], "the dearer one is above"


# What an agent costs on a host.


def a_cost(point, **more):
    return dict({"cpu": 0.001, "rss_mib": 20.0, "pss_mib": 15.0, "files": 100, "samples_per_s": 1000.0, "kept": 1.0,
                 "calls": 5.0},
                **point._asdict(), **more)


def test_growth_is_drawn_over_processes_threads_depth_and_rate():
    rows = [a_cost(point) for series in scale.SERIES for point in series[3]]

    words = [element.text for element in ElementTree.fromstring(scale.draw(rows, "Cost")).iter(
        "{http://www.w3.org/2000/svg}text")]

    assert {"Processes", "Threads", "Depth", "Rate"} <= set(words)
    assert "not measured" not in words


def test_every_bar_of_a_host_can_be_missed():
    for point, bars_of_it in scale.BARS.items():
        assert scale.missed_bars(a_cost(point)) == []
        over = {name: most * 1.01 for name, most in bars_of_it.items()}
        assert len(scale.missed_bars(a_cost(point, **over))) == len(bars_of_it)


def test_another_build_is_shown_beside_and_what_could_not_be_counted_is_a_dash():
    point = next(iter(scale.BARS))

    alone, both = scale.text_of([a_cost(point, calls=None), a_cost(point, before={"cpu": 0.002, "calls": 8, "kept": 1})]).splitlines()[1:]

    assert alone.split()[-8:-3] == ["0.10", "-", "-", "-", "-"]
    assert both.split()[-8:-3] == ["0.10", "0.20", "0.50", "5.00", "8.00"]


def test_where_ticks_were_left_out_the_row_says_so():
    point = next(iter(scale.BARS))

    assert scale.remarks(a_cost(point, kept=0.4)) == "it kept 40 % of the ticks"
    assert scale.remarks(a_cost(point, before={"kept": 0.5})) == "the build before kept 50 % of the ticks"
    assert scale.remarks(a_cost(point)) == ""


PARENT = """
import os, sys, time
def burn():
    while time.process_time() < 0.2:
        pass
    return os._exit(0)
os.fork() or burn()
os.wait()
print("{}", flush=True)
sys.stdin.read()
"""


def test_the_cpu_time_of_an_agents_child_counts_when_it_has_ended():
    parent = live.Target([sys.executable, "-c", PARENT])

    parent.read_json()
    used = scale_agent.used_s(parent.pid)
    parent.stop()

    assert 0.19 < used < 5


def test_what_has_ended_has_no_files_and_no_memory():
    assert scale_agent.files([1 << 30]) == (0, 0)
    assert scale_agent.memory(1 << 30) == [0, 0]


def test_neighbours_are_busy_and_end():
    before = set(live.children_of(os.getpid()))

    with neighbours.busy(2):
        started = set(live.children_of(os.getpid())) - before
        live.wait_until(lambda: all(scale_agent.cpu_s(pid) > 0.1 for pid in started), "they compute")

    assert len(started) == 2
    assert not started & set(live.children_of(os.getpid()))


def a_recording(now, before=None, peer=None, **more):
    tools = {name: cpu for name, cpu in (("now", now), ("before", before), (scale_record.PEER, peer)) if cpu}
    return dict({"workload": "cpu", "rate": 100, "busy": 3, "cpu": None, "times": None, "tools": tools}, **more)


def test_a_recording_is_held_against_a_core_or_against_the_peer():
    assert scale_record.missed(a_recording(0.02, cpu=0.013)) == "over 1.3 %"
    assert scale_record.missed(a_recording(0.01, cpu=0.013)) == ""
    assert scale_record.missed(a_recording(0.05, peer=0.1, times=0.4)) == "over 0.4 times"
    assert scale_record.missed(a_recording(0.03, peer=0.1, times=0.4)) == ""
    assert scale_record.missed(a_recording(0.03, times=0.4)) == "", "there is no peer"


def test_a_recording_has_a_row_with_and_without_what_it_is_compared_with():
    text = scale_record.text_of([a_recording(0.01, 0.02, 0.04, times=0.6), a_recording(0.01, cpu=0.013)])

    full, alone = text.splitlines()[1:]
    assert full.startswith("1 busy process, 3 busy neighbours, 100 Hz")
    assert full.split()[-7:] == ["1.00", "2.00", "0.50", "4.00", "0.25", "0.6", "x"]
    assert alone.split()[-7:] == ["1.00", "-", "-", "-", "-", "1.3", "%"]


# Tables.


def a_row(**more):
    side = figures.of_rounds([a_round([[2500, 2000]], whole=1999, failed=1)])
    ours = dict(figures.of_rounds([a_round([[1000, 2000]])]), stats={"retries": 0.25}, allocations=0)
    return dict({"workload": "busy", "operation": "stack", "peer": side, "ours": ours, "ratio": 2.5,
                 "bar": {"ratio": 1.7, "share": 0.999, "status_us": 2}, "status": None,
                 "passed": {"ratio": True, "share": False, "status": None},
                 "floor": figures.floor_of(COST, 96, 1.0)}, **more)


def test_a_row_shows_medians_bars_and_what_was_missed():
    line = table.cost_line(a_row())

    assert line == ["busy", "stack", "2.5", "2.5", "2.5", "1", "1", "1", "2.5", "1.7", "ok", "100 %", "99.95 %",
                    "99.9 %", "MISSED"]
    assert len(line) == len(table.COST)


def test_a_row_without_peer_has_dashes_in_its_place():
    line = table.cost_line(a_row(peer=None, ratio=None, passed={"ratio": None, "share": True}))

    assert line[2:5] == ["-", "-", "-"] and line[8] == "-" and line[10] == ""
    work = table.work_line(a_row(peer=None, floor=None))
    assert len(work) == len(table.WORK) and work[-1] == "-"


def test_without_strace_the_unwinders_own_count_is_shown():
    ours = dict(a_row()["ours"], stats={"reads": 8, "bytes": 120, "retries": 0})

    assert table.work_line(a_row(ours=ours))[2:8] == ["8", "-", "-", "-", "120", "-"]


def test_what_is_taken_with_the_status_on_is_shown_beside():
    ours = dict(figures.of_rounds([a_round([[4000, 10]])]), traced={"system_calls": 7})
    row = a_row(status={"ours": ours, "peer": None, "ratio": None}, passed={"ratio": True, "share": True, "status": False})

    line = table.status_line(row)

    assert line == ["busy", "stack", "2.5", "-", "1", "4", "2.5", "-", "-", "7", "-", "-", "2", "MISSED"]
    assert len(line) == len(table.STATUS)
    assert "as the agent asks" in table.text_of([row]) and "as the agent asks" not in table.text_of([a_row()])


def test_a_share_is_never_shown_as_more_than_it_is():
    assert table.percent(0.999999) == "99.999 %"
    assert table.percent(1) == "100 %"


def test_numbers_keep_three_digits():
    assert [table.number(value) for value in (0.0123, 1.234, 56.78, 1234.5, 7, None)] == [
        "0.0123", "1.23", "56.8", "1234", "7", "-"]


def test_missed_bars_are_counted():
    assert table.count_missed([a_row(), a_row(passed={"ratio": False, "share": None})]) == 2
