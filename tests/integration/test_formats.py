# SPDX-License-Identifier: Apache-2.0
"""What record and report write, opened by the tools that it is for; and what they add up to."""

import json
import marshal
import os
import pstats
import re
import signal
import subprocess
import xml.etree.ElementTree

import jsonschema
import pytest

import chromium
import live
import profiles

# The CPU time of each part of a program: the sampler of a sanitizer build takes longer to find it.
WORK_S = 3 if live.SANITIZED else 0.4
# A name that would end a script, a tag, a frame and a line, and one that drives terminals.
HOSTILE = "</script><img src=x onerror=alert(1)>;&\"'\n\x1b]0;title\x07"
# A name that would end a text of graphviz.
THREAD, ESCAPED = 'the "side" \\', 'the \\"side\\" \\\\'
PROGRAM = """
import threading, time
code = compile("def f(n):\\n    end = time.process_time() + n\\n    while time.process_time() < end: sum(range(500))\\n",
               __file__, "exec")
inner = next(part for part in code.co_consts if hasattr(part, "co_name"))
renamed = {"co_name": %(name)r}
if hasattr(inner, "co_qualname"):
    renamed["co_qualname"] = %(name)r
code = code.replace(co_consts=tuple(inner.replace(**renamed) if part is inner else part for part in code.co_consts))
names = {"time": time}
exec(code, names)
hostile = names["f"]

def burn(n):
    end = time.process_time() + n
    while time.process_time() < end:
        sum(range(500))

def recurse(depth):
    if depth:
        recurse(depth - 1)
    else:
        burn(%(work_s)g)

recurse(20)
hostile(%(work_s)g)
thread = threading.Thread(target=burn, args=(%(work_s)g,), name=%(thread)r)
thread.start()
thread.join()
"""


@pytest.fixture(scope="module")
def recording(pystrobe, tmp_path_factory):
    """A program with deep, hostile and threaded stacks, as a pprof file."""
    folder = tmp_path_factory.mktemp("formats")
    script = folder / "program.py"
    script.write_text(PROGRAM % {"name": HOSTILE, "thread": THREAD, "work_s": WORK_S}, encoding="utf-8")
    done = pystrobe.run("record", "--split", "thread", "-r", 200, "-o", folder / "a.pb.gz", "--", "/usr/bin/python3", script)
    assert done.returncode == 0, done.stderr
    return folder / "a.pb.gz"


@pytest.fixture
def write(pystrobe, recording, tmp_path):
    """write(format, *words): the recording in that format."""
    def write_one(name, *words):
        path = tmp_path / ("out.%s" % name)
        done = pystrobe.run("report", *words, "-f", name, "-o", path, recording)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "pystrobe: wrote %s\n" % path)
        return path

    return write_one


def total(recording, value):
    return profiles.total(profiles.read(recording), value)


@pytest.mark.parametrize("value", ["samples", "wall", "cpu", "gil"])
def test_collapsed_stacks_add_up_to_the_profile(recording, write, value):
    lines = write("collapsed", "--value", value).read_text(encoding="utf-8").splitlines()

    assert sum(int(line.rpartition(" ")[2]) for line in lines) == total(recording, value)
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines), "each stack once"


def test_go_tool_pprof_reads_what_report_writes(recording, write, pystrobe, tmp_path):
    written = write("pprof", "--value", "cpu")

    top = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=cpu", str(written)], capture_output=True,
                         text=True, timeout=live.DEADLINE_S)
    again = subprocess.run(["go", "tool", "pprof", "-proto", "-output", str(tmp_path / "go.pb.gz"), str(written)],
                           capture_output=True, text=True, timeout=live.DEADLINE_S)
    read = pystrobe.run("report", "--json", "--value", "cpu", tmp_path / "go.pb.gz")

    assert (top.returncode, top.stderr) == (0, "") and "burn" in top.stdout
    assert profiles.read(written)[0]["binary"] == profiles.read(recording)[0]["binary"] != ""
    assert total(written, "cpu") == total(recording, "cpu")
    assert again.returncode == 0, again.stderr
    assert json.loads(read.stdout)["total"] == total(recording, "cpu"), "what Go wrote"


def test_a_name_of_a_thread_ends_no_text_of_graphviz(recording):
    """go tool pprof puts names of threads into what dot reads as they are."""
    drawn = subprocess.run(["go", "tool", "pprof", "-dot", "-sample_index=cpu", str(recording)], capture_output=True,
                           text=True, timeout=live.DEADLINE_S)

    names = re.findall(r'\[label = "((?:[^"\\]|\\.)*)" id="', drawn.stdout)
    assert drawn.returncode == 0 and "thread name:" + ESCAPED in names, drawn.stderr
    assert len(names) == drawn.stdout.count("[label = ")


READ_STATS = """
import marshal, pstats, sys
class Loaded:
    stats = marshal.load(sys.stdin.buffer)
    def create_stats(self): pass
stats = pstats.Stats(Loaded())
stats.sort_stats("cumulative").print_stats()
stats.print_callers()
stats.print_callees()
"""


def test_every_pstats_reads_what_report_writes(python, write):
    with open(write("pstats"), "rb") as file:
        words = [python["inner"], "-c", READ_STATS]
        if python["root"]:
            words = live.root_words() + ["chroot", python["root"]] + words
        done = subprocess.run(words, stdin=file, capture_output=True, env=live.clean_environment(),
                              timeout=live.DEADLINE_S)

    assert done.returncode == 0, done.stderr
    assert b"(recurse)" in done.stdout and b"was called by" in done.stdout


def test_pstats_have_own_total_and_callers(recording, write):
    path = write("pstats", "--value", "cpu")
    with open(path, "rb") as file:
        stats = marshal.load(file)
    by_name = {}
    for (_, _, name), entry in stats.items():
        by_name.setdefault(name, []).append(entry)

    assert sum(entry[2] for entry in stats.values()) * 1e9 == pytest.approx(total(recording, "cpu"), rel=1e-6)
    assert HOSTILE in by_name
    _, seen, own, cumulative, callers = by_name["recurse"][0]
    assert seen > 0 and own < cumulative
    assert {name for _, _, name in callers} == {"recurse", "<module>"}
    assert pstats.Stats(str(path)).total_tt > 0


def test_speedscope_is_as_its_specification_says(recording, write):
    data = json.loads(write("speedscope").read_text(encoding="utf-8"))
    with open(os.path.join(live.TESTS, "integration", "schemas", "speedscope.json"), encoding="utf-8") as file:
        jsonschema.validate(data, json.load(file))
    frames = data["shared"]["frames"]

    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(data) == {"$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"}
    assert all(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str) for frame in frames)
    assert HOSTILE in {frame["name"] for frame in frames}
    for profile in data["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] in ("none", "nanoseconds")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
        assert sum(profile["weights"]) == profile["endValue"] == total(recording, profile["name"])
    assert data["profiles"][data["activeProfileIndex"]]["name"] == "cpu"


def check_table(table, columns):
    assert set(table) == set(columns.split()) | {"length"}
    assert all(len(table[column]) == table["length"] for column in columns.split())


def test_gecko_is_as_its_types_say(recording, write):
    data = json.loads(write("gecko", "--value", "cpu").read_text(encoding="utf-8"))
    shared, strings = data["shared"], data["shared"]["stringArray"]

    assert data["meta"]["preprocessedProfileVersion"] == 61 and data["libs"] == [] and "interval" in data["meta"]
    assert any(category["color"] == "grey" for category in data["meta"]["categories"])
    check_table(shared["stackTable"], "frame prefix")
    check_table(shared["frameTable"], "address inlineDepth category subcategory func nativeSymbol innerWindowID line column")
    check_table(shared["funcTable"], "name isJS relevantForJS resource source lineNumber columnNumber")
    check_table(shared["resourceTable"], "lib name host type")
    check_table(shared["nativeSymbols"], "libIndex address name functionSize")
    check_table(shared["sources"], "id filename startLine startColumn sourceMapURL")
    assert all(prefix is None or prefix < i for i, prefix in enumerate(shared["stackTable"]["prefix"]))
    assert all(frame < shared["frameTable"]["length"] for frame in shared["stackTable"]["frame"])
    assert all(func < shared["funcTable"]["length"] for func in shared["frameTable"]["func"])
    assert all(category < len(data["meta"]["categories"]) for category in shared["frameTable"]["category"])
    assert HOSTILE in {strings[name] for name in shared["funcTable"]["name"]}
    assert "no times: each stack is one sample" in data["meta"]["extra"][0]["entries"][0]["value"], "a file of sums says so"
    weight = 0
    for thread in data["threads"]:
        check_table({key: value for key, value in thread["samples"].items() if key != "weightType"}, "stack time weight")
        assert thread["samples"]["weightType"] == "tracing-ms" and isinstance(thread["pid"], str)
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        assert all(stack is None or stack < shared["stackTable"]["length"] for stack in thread["samples"]["stack"])
        weight += sum(thread["samples"]["weight"])
    assert weight * 1e6 == pytest.approx(total(recording, "cpu"), rel=1e-6)
    assert {"MainThread", THREAD} <= {thread["name"] for thread in data["threads"]}


def test_json_lines_have_every_value_of_every_stack(recording, write):
    head, *rows = [json.loads(line) for line in write("jsonl").read_text(encoding="utf-8").splitlines()]

    for value in head["units"]:
        assert sum(row["values"][value] for row in rows) == total(recording, value)
    assert any(frame["func"] == HOSTILE for row in rows for frame in row["stack"])
    assert {"key": "thread name", "value": THREAD} in [label for row in rows for label in row["labels"]]


def test_svg_is_xml_with_a_title_for_each_box(write):
    tree = xml.etree.ElementTree.parse(write("svg"))
    name = "{http://www.w3.org/2000/svg}%s"
    boxes = tree.getroot().findall(name % "g")

    assert len(boxes) > 5
    assert all(box.find(name % "title") is not None and box.find(name % "rect") is not None for box in boxes)
    titles = "\n".join(box.find(name % "title").text for box in boxes)
    assert "</script><img" in titles and "\x1b" not in titles
    assert not tree.getroot().findall(".//%s" % name % "script")


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return text, json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))


def test_the_flame_graphs_page_is_whole_by_itself(recording, write):
    text, data = data_of(write("flame"))
    rest = list(data["nodes"])
    own = [0] * len(data["types"])
    while rest:
        _, code = rest[:2]
        values = rest[2:2 + len(own)] if code >= 0 else []
        own = [a + b for a, b in zip(own, values or [0] * len(own))]
        del rest[:2 + len(values)]

    assert own == [total(recording, name) for name, _ in data["types"]]
    assert not re.search(r"(src|href)=\"(?!data:)", text) and "@import" not in text and "fetch(" not in text
    assert "default-src 'none'" in text and text.count("<img src=x") == 0


def test_the_heat_map_has_the_source_lines(recording, write, tmp_path):
    _, data = data_of(write("heatmap", "--value", "cpu", "--source", "/"))
    bare = data_of(write("heatmap", "--no-source"))[1]
    file = next(i for i, entry in enumerate(data["files"]) if entry[0].endswith("program.py"))
    burn = next(i for i, function in enumerate(data["functions"]) if function[0] == "burn")

    assert any("while time.process_time() < end:" in piece[1] for piece in data["files"][file][3])
    assert sum(place[2] for place in data["places"]) == data["total"] == total(recording, "cpu")
    assert any(place[0] == file and burn in place[4:] for place in data["places"])
    assert any(callee == burn for _, callee, _ in data["calls"])
    assert all(entry[3] is None for entry in bare["files"])


# Each format's name, ending, and what only it has.
FORMATS = [("pprof", ".pb.gz", rb"\A\x1f\x8b"), ("flame", ".html", rb'\A<!DOCTYPE html>(?s:.)*id="graph"'),
           ("heatmap", ".heatmap.html", rb'\A<!DOCTYPE html>(?s:.)*id="code"'), ("svg", ".svg", rb"\A(?s:.){0,200}<svg "),
           ("collapsed", ".collapsed", rb"(?m)^<module> \(\S+\);spin \(\S+\) \d+$"), ("speedscope", ".speedscope.json", rb'\A\{"\$schema"'),
           ("gecko", ".gecko.json", rb'"preprocessedProfileVersion"'), ("pstats", ".pstats", rb"\A[{\xfb]"),
           ("jsonl", ".jsonl", rb'\A\{"profile"'), ("tree", ".tree", rb"spin")]


@pytest.mark.parametrize("name, ending, mark", FORMATS, ids=[one[0] for one in FORMATS])
def test_record_writes_each_format_by_its_ending_and_by_its_name(pystrobe, tmp_path, name, ending, mark):
    code = "import time\ndef spin():\n while time.process_time() < %g: sum(range(500))\nspin()" % WORK_S
    command = ["--", "/usr/bin/python3", "-c", code]

    ended = pystrobe.run("record", "-r", 200, "-o", tmp_path / ("x" + ending), *command)
    named = pystrobe.run("record", "-r", 200, "-f", name, "-o", tmp_path / "plain", *command)

    assert ended.returncode == named.returncode == 0, ended.stderr + named.stderr
    for path in (tmp_path / ("x" + ending), tmp_path / "plain"):
        assert re.search(mark, path.read_bytes()), path
    assert re.search(r"\d samples? of 1 process in \d+\.\d s, (nothing )?dropped", ended.stderr), ended.stderr
    assert re.search(r"[\d.]+ of 200 samples a second and process; [\d.]+ s of CPU, [\d.]+% of it on stacks", ended.stderr)


@pytest.mark.parametrize("name", ["x.json", "x.txt", "x.foo", "x"])
def test_an_ending_that_no_format_has_is_an_error_before_anything_runs(pystrobe, recording, tmp_path, name):
    mark, path = tmp_path / "mark", tmp_path / name

    recorded = pystrobe.run("record", "-o", path, "--", "touch", mark)
    reported = pystrobe.run("report", "-o", path, recording)
    chosen = pystrobe.run("report", "-f", "json", "-o", path, recording)

    for done in (recorded, reported):
        assert done.returncode == 64 and "%s: no format has files that end so" % path in done.stderr
        assert " .pb.gz .pprof .html " in done.stderr and " .gecko.json " in done.stderr
    assert not mark.exists()
    assert chosen.returncode == 0 and json.loads(path.read_text())["functions"]


def test_a_pipe_needs_no_ending(pystrobe, recording):
    done = pystrobe.run("report", "-o", "/dev/stdout", recording)

    assert (done.returncode, done.stderr) == (0, "") and "function" in done.stdout


def test_ctrl_c_keeps_what_is_there_in_any_format(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]
    bounds = profiles.Bounds([pid])
    process = pystrobe.start("record", "--pid", pid, "-d", "120s", "-f", "jsonl", "-o", "-", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    bounds.begin(process.pid)
    enough = profiles.cpu_ns(pid) + 10**8
    live.wait_until(lambda: profiles.cpu_ns(pid) > enough, "it has used some CPU")

    process.send_signal(signal.SIGINT)
    written = process.communicate(timeout=live.DEADLINE_S)[0]

    assert process.returncode == 0
    assert sum(json.loads(line)["values"]["samples"] for line in written.splitlines()[1:]) > 0


def test_a_terminal_sees_how_it_goes(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]
    leader, follower = os.openpty()
    process = pystrobe.start("record", "--pid", pid, "-d", "120s", "-o", tmp_path / "o.pb.gz", stderr=follower)
    os.close(follower)

    seen = b""
    # In which function most of the time is depends on the machine: on a loaded one, in bursts between samples.
    while not re.search(rb"\d+ samples of 1 process, \d+ torn  \d+% in \S", seen):
        seen += os.read(leader, 4096)
    process.send_signal(signal.SIGINT)

    assert process.wait(live.DEADLINE_S) == 0
    os.close(leader)


def record_until_sampled(pystrobe, pids, *words):
    """Records until each of the processes has been sampled; gives what was said."""
    bounds = profiles.Bounds(pids)
    process = pystrobe.start("record", "-d", "120s", *words, stderr=subprocess.PIPE, text=True)
    bounds.begin(process.pid)
    enough = profiles.cpu_ns(pids[0]) + 10**8
    live.wait_until(lambda: profiles.cpu_ns(pids[0]) > enough, "it has used some CPU")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=live.DEADLINE_S)[1]
    assert process.returncode == 0, said
    return said


def test_processes_are_found_by_name(pystrobe, start, tmp_path):
    pid = start(live.load_pythons()[0][0], "busy.py").read_json()["pid"]

    missing = pystrobe.run("record", "--target", "nothing-is-called-so", "-d", "3s", "-o", tmp_path / "none.pb.gz")
    record_until_sampled(pystrobe, [pid], "--target", "busy", "-o", tmp_path / "o.pb.gz")
    record_until_sampled(pystrobe, [pid], "--target", "targets/busy.py", "-o", tmp_path / "path.pb.gz")

    for name in ("o.pb.gz", "path.pb.gz"):
        assert profiles.total(profiles.read(tmp_path / name), "samples") > 0
    assert missing.returncode == 69 and not (tmp_path / "none.pb.gz").exists()


def test_children_are_recorded_on_request(pystrobe, start, tmp_path):
    own = start(live.load_pythons()[0][0], "fork_workers.py").read_json()

    alone = record_until_sampled(pystrobe, own["workers"][:1], "--pid", own["workers"][0], "-o", tmp_path / "one.pb.gz")
    together = record_until_sampled(pystrobe, own["workers"] + [own["pid"]], "--pid", own["pid"], "--children",
                                    "-o", tmp_path / "all.pb.gz")

    assert "of 1 process in" in alone
    assert "of %d processes in" % (len(own["workers"]) + 1) in together


@pytest.mark.long
@pytest.mark.skipif(not chromium.find() and os.environ.get("CI") != "true", reason="needs chromium")
def test_a_browser_shows_the_pages(write):
    flame = chromium.run(write("flame"), """
        const input = document.getElementById("search");
        input.value = "burn";
        input.dispatchEvent(new Event("input"));
        const found = document.getElementById("found").textContent;
        const box = [...document.querySelectorAll("#graph div")].find(box => box.textContent === "burn");
        const before = box.getBoundingClientRect().width;
        box.click();
        const zoomed = [...document.querySelectorAll("#graph div:not(.above)")].find(box => box.textContent === "burn");
        const after = zoomed.getBoundingClientRect().width, whole = document.getElementById("graph").clientWidth;
        const lines = [...document.querySelectorAll("#lines tbody tr")].map(row => Number(row.cells[4].textContent));
        document.getElementById("reset").click();
        const boxes = document.querySelectorAll("#graph div").length;
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
        return {found, lines, before, after, whole, boxes, focus: document.activeElement.getAttribute("aria-level"),
                rows: document.querySelectorAll("#top tbody tr").length};
    """)
    heat = chromium.run(write("heatmap", "--source", "/"), r"""
        const button = document.querySelector("#code tbody button");
        button.click();
        const first = document.getElementById("calls").textContent;
        const file = [...document.querySelectorAll("#files button")].find(one => one.textContent.includes("program.py"));
        file.click();
        const rowOf = text => [...document.querySelectorAll("#code tbody tr")].find(row => row.cells[3].textContent.trim() === text);
        const linkTo = text => [...document.querySelectorAll("#calls button.link")].find(one => one.textContent.includes(text));
        const shade = cell => Number((/, ([0-9.]+)\)$/.exec(getComputedStyle(cell).backgroundColor) || [0, 1])[1]);
        const hot = rowOf("burn(0.4)"), own = shade(hot.cells[1]), total = shade(hot.cells[2]);
        hot.querySelector("button").click();
        linkTo("burn").click();
        const callee = document.getElementById("calls").textContent;
        linkTo("program.py").click();
        return {files: document.querySelectorAll("#files button").length, calls: first, callee, own, total,
                label: hot.querySelector("button").getAttribute("aria-label"), caller: document.getElementById("calls").textContent};
    """)

    assert re.match(r"\d+ functions found: \d", flame["found"])
    assert flame["before"] < flame["after"] and abs(flame["after"] - flame["whole"]) < 2
    assert flame["lines"] and all(line > 1 for line in flame["lines"]), flame
    assert flame["boxes"] > 20 and flame["rows"] > 2 and flame["focus"] == "2"
    assert heat["files"] > 0 and "callers of" in heat["calls"]
    assert re.match(r"line \d+: own [0-9.]+ %, total [1-9]", heat["label"]) and heat["own"] < heat["total"], heat
    assert "callers of burn" in heat["callee"], heat
    assert "calls from this line" in heat["caller"] and heat["caller"] != heat["callee"], "from a callee to its caller"
