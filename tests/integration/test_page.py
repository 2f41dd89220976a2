# SPDX-License-Identifier: Apache-2.0
"""The page for browsers, and the data below /api/ that it shows."""

import colorsys
import concurrent.futures
import json
import os
import re
import time
import urllib.parse

import pytest

import axe
import browser
import chromium
import live
import pages
import profiles

PAGE_BYTES_MAX = 200 * 1000
FOREVER_MS = 9 * 10**12
needs_chromium = pytest.mark.skipif(not chromium.find() and os.environ.get("CI") != "true", reason="needs chromium")


@pytest.fixture
def shop(agent, start, tmp_path):
    """An agent that keeps profiles of two programs of one service: (agent, port, {hot function: target})."""
    port = pages.free_port()
    targets = {name: pages.start_target(start, tmp_path, "desk_%s.py" % name, name) for name in ("brew", "bake")}
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port))
    run.wait_for(target.pid for target in targets.values())
    pages.wait_until_ready(port)
    return run, port, targets


def fetch(port, what, **words):
    """(status, body, headers) of /api/`what`, as soon as the agent takes one more request."""
    def answer():
        found = pages.ask(port, "/api/%s?%s" % (what, urllib.parse.urlencode(words)))
        return None if found[0] == 429 else found

    return live.wait_until(answer, "an answer", 0.2)


def ask(port, what, **words):
    """The JSON of /api/`what`."""
    status, body, headers = fetch(port, what, **words)
    assert status == 200, body
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    return json.loads(body)


def kept(port):
    """How many profiles of the shop are kept."""
    return sum(one["profiles"] for one in ask(port, "services")["services"] if one["service"] == "shop")


def totals(graph):
    """Each value's total, and the names of the functions, of a flame graph's data."""
    types, numbers, sums, at = len(graph["types"]), graph["nodes"], [0] * len(graph["types"]), 0
    while at < len(numbers):
        bare = numbers[at + 1] < 0
        at += 2
        if not bare:
            sums = [a + b for a, b in zip(sums, numbers[at:at + types])]
            at += types
    return ({name: value for (name, _), value in zip(graph["types"], sums)}, {function[0] for function in graph["functions"]})


def test_a_range_of_the_store_comes_as_a_time_line_and_a_flame_graph_and_a_difference(shop):
    """All three count the same."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 4, "profiles are kept", 0.3)
    line = ask(port, "timeline", service="shop", **{"from": 0, "to": FOREVER_MS})
    times = sorted(point[0] for point in line["points"])
    middle, end = times[2], times[-1] + 1
    assert line["read"] == line["files"] == len(times) >= 4

    def sums(begin, end):
        at = 2 + [name for name, _ in line["types"]].index("cpu")
        return sum(point[at] for point in line["points"] if begin <= point[0] < end)

    early = ask(port, "graph", service="shop", **{"from": times[0], "to": middle})
    late = ask(port, "graph", service="shop", type="wall", **{"from": middle, "to": end})
    change = ask(port, "graph", service="shop", type="cpu", before_from=times[0], before_to=middle,
                 **{"from": middle, "to": end})

    assert totals(early)[0]["cpu"] == sums(times[0], middle) > 0
    assert totals(late)[0]["cpu"] == sums(middle, end) > 0
    rate = change["after"]["recorded_ms"] / change["before"]["recorded_ms"]
    assert totals(change)[0]["cpu"] == sums(middle, end)
    assert totals(change)[0]["before"] == pytest.approx(sums(times[0], middle) * rate, rel=0.01), "as of the same recorded time"
    assert {"brew", "bake", "warm"} <= totals(late)[1] | totals(early)[1]
    assert late["types"][late["type"]][0] == "wall" and late["base"] is None and change["base"] == 1
    assert late["after"]["files"] == late["after"]["read"] == len(times) - 2 and late["after"]["recorded_ms"] > 0
    assert change["before"]["read"] == 2
    assert pages.ask(port, "/api/graph?service=shop&from=1&to=2")[:2] == (404, b"there are no profiles in this time range\n")


def test_a_range_comes_as_a_pprof_file(shop, tmp_path):
    """Of the service and of one process; it counts what the flame graph counts."""
    _, port, targets = shop
    live.wait_until(lambda: kept(port) >= 3, "profiles are kept", 0.3)
    times = sorted(point[0] for point in ask(port, "timeline", service="shop", **{"from": 0, "to": FOREVER_MS})["points"])
    span = {"service": "shop", "from": times[0], "to": times[-1] + 1}
    for words in (span, dict(span, pid=targets["brew"].pid)):
        status, body, headers = fetch(port, "profile", **words)
        assert (status, headers["Content-Type"]) == (200, "application/octet-stream"), body
        assert headers["Content-Disposition"] == 'attachment; filename="profile.pb.gz"'
        (tmp_path / "got.pb.gz").write_bytes(body)
        profile = profiles.read(tmp_path / "got.pb.gz")[0]
        graph = ask(port, "graph", **words)
        assert profile["totals"]["cpu"] == totals(graph)[0]["cpu"] > 0 and profile["default_type"] == "cpu"
        assert json.loads(profile["comments"][-1]) == graph["after"]
    assert pages.ask(port, "/api/profile?service=shop&from=1&to=2")[:2] == (404, b"there are no profiles in this time range\n")


def test_a_range_of_one_process_has_its_samples_alone(shop):
    """Time line, flame graph and difference; those of all processes add up to that of the service."""
    _, port, targets = shop
    live.wait_until(lambda: kept(port) >= 4, "profiles are kept", 0.3)
    times = sorted(point[0] for point in ask(port, "timeline", service="shop", **{"from": 0, "to": FOREVER_MS})["points"])
    span = {"service": "shop", "from": times[0], "to": times[-1] + 1}
    lines = {name: ask(port, "timeline", pid=target.pid, **span) for name, target in targets.items()}
    graphs = {name: ask(port, "graph", pid=target.pid, **span) for name, target in targets.items()}
    change = ask(port, "graph", pid=targets["brew"].pid, type="cpu", before_from=times[0], before_to=times[2],
                 **dict(span, **{"from": times[2]}))

    for name, other in (("brew", "bake"), ("bake", "brew")):
        at = 2 + [one for one, _ in lines[name]["types"]].index("cpu")
        assert name in totals(graphs[name])[1] and other not in totals(graphs[name])[1]
        assert sum(point[at] for point in lines[name]["points"]) == totals(graphs[name])[0]["cpu"] > 0
        assert graphs[name]["title"] == "shop, process %d" % targets[name].pid
    cpu = sum(totals(graph)[0]["cpu"] for graph in graphs.values())
    assert 0.99 < cpu / totals(ask(port, "graph", **span))[0]["cpu"] <= 1
    assert change["base"] == 1 and "bake" not in totals(change)[1]
    status, said, _ = pages.ask(port, "/api/graph?" + urllib.parse.urlencode(dict(span, pid=1)))
    assert status == 404 and b"no profile of process 1: " in said


def test_threads_and_the_next_seconds_of_one_process(shop):
    _, port, targets = shop
    dump = ask(port, "threads", pid=targets["brew"].pid)
    threads = dump["interpreters"][0]["threads"]
    assert {thread["name"] for thread in threads} >= {"idler"} and "desk_brew.py" in str(threads)

    graph = ask(port, "sample", pid=targets["bake"].pid, seconds=1)
    assert "bake" in totals(graph)[1] and "brew" not in totals(graph)[1]
    assert {one["pid"] for one in ask(port, "state")["targets"]} == {target.pid for target in targets.values()}
    assert pages.ask(port, "/api/threads?pid=%d" % os.getpid())[0] == 404, "no target"
    assert pages.ask(port, "/api/sample?pid=0")[0] == 400 and pages.ask(port, "/api/sample?seconds=61")[0] == 400


def test_what_is_too_much_is_refused_and_the_rest_goes_on(shop):
    """Few read the store at a time; they hold up neither health nor profiles."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 1, "profiles are kept", 0.3)
    address = "/api/graph?service=shop&from=0&to=%d" % FOREVER_MS

    def ask_until(end):
        return {pages.ask(port, address)[0] for _ in iter(lambda: time.monotonic() < end, False)}

    before = kept(port)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask_until, time.monotonic() + 3) for _ in range(8)]
        assert {pages.ask(port, "/healthz")[0] for _ in range(20)} == {200}
        assert {200, 503} <= set().union(*(one.result() for one in asked)) <= {200, 429, 503}
    live.wait_until(lambda: kept(port) > before, "profiles go on to be kept", 0.3)


@pytest.fixture
def empty(agent, tmp_path):
    """empty(listen, more): the port of an agent that has nothing to sample, and its store."""
    def run(listen="127.0.0.1:%d", more="", ini=lambda text: text):
        port = pages.free_port()
        started = agent(ini(pages.ini_of(tmp_path, listen % port, more)))
        pages.wait_until_ready(port)
        return started, port

    return run


def test_the_page_is_small_and_its_policy_strict(empty):
    _, port = empty()
    size = 0
    for path, kind in (("/", "text/html"), ("/help", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        status, body, headers = pages.ask(port, path)
        assert status == 200 and headers["Content-Type"] == kind + "; charset=utf-8"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert not re.search(rb"https?://(?!www\.w3\.org/2000/svg)", body), "an address of others"
        size += len(body)
    assert size < PAGE_BYTES_MAX


def test_the_help_explains_each_heading_and_links_lead_somewhere(empty_port):
    page, text = [pages.ask(empty_port, path)[1].decode() for path in ("/", "/help")]
    terms = {word for term in re.findall("<dt>(.*?)</dt>", text) for word in term.split(", ")} | set(re.findall("<dt>(.*?)</dt>", text))
    titles = re.findall(r"<h2[^>]*>([A-Za-z ]+)", text)

    assert 'href="help"' in page and "man pystrobe.ini" in text
    assert set(re.findall("<th [^>]*>([^<]+)</th>", page)) <= terms  # others are filled in
    assert set(re.findall(r'<button id="(?!pause|theme)[^>]*>(.*?)</button>', page)) <= terms
    assert all(any(found.startswith(title) for title in titles) for found in re.findall(r"<h2[^>]*>([A-Za-z ]+)", page))
    for link in re.findall(r'(?:href|src)="(?!data:)([^"]+)"', page + text):
        assert pages.ask(empty_port, "/" + link.replace("./", ""))[0] == 200, link


@pytest.mark.parametrize("path, code, word", [
    ("graph", 400, "service"), ("graph?service=..&from=0&to=1", 400, "service"),
    ("graph?service=a/b&from=0&to=1", 400, "service"), ("graph?service=shop", 400, "from"),
    ("graph?service=shop&from=5&to=5", 400, "before"), ("graph?service=shop&from=-1&to=5", 400, "from=-1"),
    ("graph?service=shop&from=0&to=99999999999999999999", 400, "to="),
    ("graph?service=shop&from=0&to=1&type=cpu;x", 400, "type"), ("graph?service=shop&from=0&to=1&type=", 400, "type"),
    ("graph?service=shop&from=0&to=1&before_from=1", 400, "before_to"),
    ("graph?service=shop&from=0&to=1&label=thread", 400, "label"),
    ("timeline?service=shop&from=0", 400, "to"), ("graph?service=shop&from=0&to=1", 404, "no profiles"),
    ("nothing", 404, "there are")])
def test_bad_words_are_refused(empty_port, path, code, word):
    status, body, _ = pages.ask(empty_port, "/api/" + path)

    assert status == code and word in body.decode(), body


@pytest.fixture(scope="module")
def empty_port(pystrobe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    port = pages.free_port()
    (folder / "a.ini").write_text(pages.ini_of(folder, "127.0.0.1:%d" % port))
    run = pages.start_agent(pystrobe, folder / "a.ini")
    pages.wait_until_ready(port)
    yield port
    run.process.kill()
    run.process.wait()


def test_other_pages_and_names_get_nothing(empty_port):
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    beside = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert pages.ask(empty_port, "/api/state", **own)[0] == 200 and pages.ask(empty_port, "/", **link)[0] == 200
    for path in ("/api/state", "/debug/pprof/profile?seconds=1", "/page.js"):
        assert pages.ask(empty_port, path, **foreign)[0] == pages.ask(empty_port, path, **beside)[0] == 403
    assert pages.ask(empty_port, "/", Host="evil.example")[0] == 421
    assert pages.ask(empty_port, "/api/state", method="POST")[0] == 405


def test_a_key_turns_the_page_off(empty):
    run, port = empty()
    assert pages.ask(port, "/")[0] == 200
    for more, pull in (("page = off", 200), ("pull = off", 404)):
        run.ini.write_text(re.sub(r"(listen = .*\n).*\n", r"\1%s\n" % more, run.ini.read_text()))
        run.process.send_signal(1)
        live.wait_until(lambda: (pages.ask(port, "/")[0], pages.ask(port, "/debug/pprof/")[0]) == (404, pull), more, 0.1)
        assert pages.ask(port, "/api/state")[0] == 404 and pages.ask(port, "/metrics")[0] == 200


def test_elsewhere_than_on_the_loopback_it_is_off(empty):
    _, port = empty("0.0.0.0:%d")
    assert pages.ask(port, "/")[0] == pages.ask(port, "/api/state")[0] == 404


def test_without_a_store_there_is_the_rest(empty):
    _, port = empty(ini=lambda text: text.partition("[exporter")[0])
    assert pages.ask(port, "/api/services")[:2] == (404, b"there is no exporter of type store\n")
    assert pages.ask(port, "/")[0] == pages.ask(port, "/api/state")[0] == 200


@pytest.fixture
def tab():
    one = browser.Browser()
    yield one
    one.close()


def open_shop(tab, port, boxes=6):
    tab.open("http://127.0.0.1:%d/" % port)
    tab.wait("document.querySelectorAll('#graph div').length >= %d && !document.getElementById('drawn').hidden" % boxes, "a flame graph")


SEARCH = """(text => {
  const input = document.getElementById("search");
  input.value = text;
  input.dispatchEvent(new Event("input"));
  return document.getElementById("found").textContent;
})("%s")"""
WIDTH = """(name => {
  const boxes = [...document.querySelectorAll("#graph div:not(.above)")].filter(box => box.textContent === name);
  return Math.max(0, ...boxes.map(box => box.getBoundingClientRect().width));
})("%s")"""


@pytest.mark.long
@needs_chromium
def test_a_browser_finds_zooms_and_switches(shop, tab):
    _, port, targets = shop
    live.wait_until(lambda: kept(port) >= 4, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("document.getElementById('follow').click()")  # what is seen stays as it is

    assert re.match(r"[3-9] functions found: [1-9]", tab.run(SEARCH % "DESK_BREW.py"))
    assert re.match(r"1 functions found: [1-9]", tab.run(SEARCH % "/^brew /"))
    before, whole = tab.run(WIDTH % "brew"), tab.run("document.getElementById('graph').clientWidth")
    tab.run("[...document.querySelectorAll('#graph div')].find(box => box.textContent === 'brew').click()")
    assert 0 < before < whole - 10 and abs(tab.run(WIDTH % "brew") - whole) < 2
    assert tab.run("document.activeElement.textContent") == "brew"
    tab.key("Escape")
    tab.wait("document.getElementById('reset').disabled", "the zoom is reset")
    tab.key("ArrowDown")
    assert tab.run("document.activeElement.getAttribute('aria-level')") == "2"

    for value in ("wall", "gil", "cpu"):
        tab.run("""(value => {
          const select = document.getElementById("what");
          select.value = value;
          select.dispatchEvent(new Event("change"));
        })("%s")""" % value)
        tab.wait("/ s %s|ms %s/.test(document.getElementById('about').textContent)" % (value, value), value)
    top = tab.run("[...document.querySelectorAll('#top tbody button')].slice(0, 4).map(button => button.textContent)")
    assert {"brew", "bake"} & set(top), top

    tab.run("[...document.querySelectorAll('#targets tbody button')].find(button => button.getAttribute('aria-label') === "
            "'the next 5 seconds of process %d').click()" % targets["bake"].pid)
    tab.wait("document.getElementById('about').textContent.includes('process %d, sampled now')" % targets["bake"].pid, "it is sampled")
    assert tab.run(SEARCH % "/^bake /").startswith("1 ") and tab.run(SEARCH % "/^brew /").startswith("0 ")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_a_browser_chooses_a_range_by_keys_and_compares(shop, tab):
    """The last 30 % with the 30 % before them: the first profile can be longer than the others, and a range has those that began in it."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 10, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("document.getElementById('window').value = 0; document.getElementById('window').dispatchEvent(new Event('change'))")
    tab.wait("document.querySelectorAll('#line .point').length >= 10", "the time line of all")
    whole = tab.run("document.getElementById('range').textContent")
    tab.run("document.getElementById('from').focus(); document.getElementById('from').value = 699;"
            "document.getElementById('from').dispatchEvent(new Event('input'))")
    tab.key("ArrowRight")
    tab.wait("!document.getElementById('follow').checked && document.getElementById('from').value == 700", "a range")
    assert tab.run("document.getElementById('range').textContent") != whole

    tab.run("document.getElementById('compare').value = 'before';"
            "document.getElementById('compare').dispatchEvent(new Event('change'))")
    tab.wait("document.getElementById('about').textContent.includes('against')", "a difference")
    assert "took less" in tab.run("document.getElementById('legend').textContent")
    assert "change" in tab.run("document.getElementById('say').textContent")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_a_browser_saves_a_range_as_pprof(shop, tab, tmp_path):
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 3, "profiles are kept", 0.3)
    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
    open_shop(tab, port)
    tab.run("document.getElementById('download').click()")
    saved = live.wait_until(lambda: list((tmp_path / "saved").glob("*.pb.gz")), "a file", 0.2)
    assert re.fullmatch(r"shop-\d{4}-\d\d-\d\dT\d{6}Z\.pb\.gz", saved[0].name)
    assert {"brew", "bake"} <= set(re.findall(r"[a-z]+", str(profiles.read(saved[0])[0]["samples"])))
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_an_address_shows_somebody_else_the_same(shop, tab):
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 10, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("document.getElementById('from').value = 300; document.getElementById('from').dispatchEvent(new Event('input'));"
            "document.getElementById('from').dispatchEvent(new Event('change'))")
    change(tab, "what", "wall")
    found = tab.run(SEARCH % "/^brew /")
    tab.run("(%s).click()" % (BOX % "brew"))
    tab.wait("['value=wall', 'search=', 'zoom=.*brew'].every(part => RegExp(part).test(location.hash))", "the address tells")
    address, seen = tab.run("location.href"), tab.run(TEXT % "range")
    assert re.search(r"#shop\?from=\d{4}-.*&to=\d{4}-", address), address

    tab.open("about:blank")
    tab.open(address)
    tab.wait("document.querySelectorAll('#graph div').length > 2 && !document.getElementById('drawn').hidden", "a flame graph")
    assert tab.run(TEXT % "range") == seen
    assert tab.run("document.getElementById('what').value") == "wall"
    assert abs(tab.run(WIDTH % "brew") - tab.run("document.getElementById('graph').clientWidth")) < 2
    assert tab.run(TEXT % "found").split(":")[0] == found.split(":")[0] == "1 functions found"
    assert not tab.run("document.getElementById('follow').checked")
    assert re.match(r"the highest is [\d.]+ s a second · .* to .*, time of \S+", tab.run(TEXT % "axis"))
    tab.run("document.getElementById('reset').click()")
    assert "zoom" not in tab.run("location.hash")
    tab.run("location.hash += '&zoom=' + encodeURIComponent('<module>:desk_bake.py:1;gone:x.py:3')")
    tab.wait("/zoom/.test(location.hash) && document.readyState === 'complete' && document.querySelectorAll('#graph div.above').length === 1",
             "it is zoomed as far as the path leads")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_an_address_shows_a_service_that_has_ended(agent, start, tmp_path, tab):
    """What the store has of it, though another one is running."""
    port = pages.free_port()
    ended, other = (pages.start_target(start, tmp_path, name + ".py", "brew") for name in ("desk_a", "rest_b"))
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port) + "[target rest]\ncmdline = %s/rest\nservice = workshop\n" % tmp_path)
    run.wait_for([ended.pid, other.pid])
    live.wait_until(lambda: kept(port) >= 2, "profiles are kept", 0.3)
    ended.stop()
    live.wait_until(lambda: [one["pid"] for one in ask(port, "state")["targets"]] == [other.pid], "it is gone", 0.2)
    tab.open("http://127.0.0.1:%d/#shop" % port)
    tab.wait("document.querySelectorAll('#graph div').length >= 3 && !document.getElementById('drawn').hidden", "a flame graph")
    assert tab.run(TEXT % "line-title") == "Time line of shop" and tab.run("location.hash") == "#shop"
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_it_shows_which_service_used_most_cpu(agent, start, tmp_path, tab):
    """Which one in the last hour? A click on that heading, and it is the first."""
    port = pages.free_port()
    pids = [pages.start_program(start, tmp_path, name + ".py", "brew") for name in ("desk_a", "rest_b", "rest_c", "rest_d")]
    rest = "[target rest]\ncmdline = %s/rest\nservice = workshop\n" % tmp_path
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port) + rest)
    run.wait_for(pids)
    live.wait_until(lambda: kept(port) >= 2, "profiles are kept", 0.3)
    tab.open("http://127.0.0.1:%d/" % port)
    rows = "[...document.querySelectorAll('#services tbody tr')].map(row => [row.cells[0].textContent, row.cells[1].textContent])"
    tab.wait("(rows => rows.length === 2 && rows.every(row => parseFloat(row[1]) > 0.5))(%s)" % rows, "CPU time of both")
    tab.run("[...document.querySelectorAll('#services th button')].find(button => button.textContent === 'CPU, last hour').click()")
    told = {one["service"]: one["cpu_hour_seconds"] for one in ask(port, "state")["services"]}
    shown = tab.run(rows)
    assert [name for name, _ in shown] == ["workshop", "shop"], shown
    assert all(0 < float(text.split()[0]) <= told[name] + 0.05 for name, text in shown), (shown, told)


@pytest.mark.long
@needs_chromium
def test_a_click_on_a_heading_sorts(shop, tab):
    _, port, targets = shop
    open_shop(tab, port)
    pids = "[...document.querySelectorAll('#targets tbody tr')].map(row => Number(row.cells[0].textContent))"
    tab.wait(pids + ".length == %d" % len(targets), "all processes")
    head = "document.querySelector('#targets th button').click()"
    tab.run(head)
    assert tab.run(pids) == sorted(one.pid for one in targets.values())
    tab.run(head)
    assert tab.run(pids) == sorted((one.pid for one in targets.values()), reverse=True)
    assert tab.run("document.querySelector('#targets th').getAttribute('aria-sort')") == "descending"
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_it_shows_which_line(shop, tab):
    """Which line of the function that takes most is it? The lines stand by what they took, that of the loop's body among them.

    (Where others want the CPU, threads wait for it on their way out of system calls, and the loop's head makes one: the
    body need not come first.)
    """
    _, port, targets = shop
    live.wait_until(lambda: kept(port) >= 4, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("document.getElementById('follow').click()")
    top = "[...document.querySelectorAll('#top tbody button')].find(button => button.textContent === 'brew')"
    tab.wait("!!" + top, "brew is in the table")
    assert tab.run("document.getElementById('of-function').hidden")
    tab.run(top + ".click()")
    assert re.match(r"Lines of brew \(.*/desk_brew\.py\)$", tab.run(TEXT % "lines-title"))
    rows = tab.run("[...document.querySelectorAll('#lines tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    body = 1 + pages.PROGRAM.split("\n").index("        sum(range(1000))")
    own = [float(row[1].split()[0]) for row in rows]
    assert own == sorted(own, reverse=True) and len(rows) <= 4, rows
    assert body in [int(row[4]) for row in rows if float(row[1].split()[0]) > 0], rows
    brew = tab.run("[...(%s).closest('tr').cells].map(cell => parseFloat(cell.textContent))" % top)
    assert sum(float(row[1].split()[0]) for row in rows) == pytest.approx(brew[1], abs=0.05), "own of all lines is own of the function"

    tab.run("document.getElementById('reset').focus()")
    tab.key("Escape")
    assert tab.run("document.getElementById('of-function').hidden")
    tab.run("(%s).click()" % (BOX % "bake"))
    assert tab.run(TEXT % "lines-title").startswith("Lines of bake (")
    change(tab, "compare", "before")
    tab.wait("/against|no profiles/.test(document.getElementById('about').textContent + document.getElementById('nothing').textContent)", "it is compared")
    assert [one for one in tab.problems if "404" not in one] == []


MIDDLE = """(id => {
  const field = document.getElementById(id), box = field.getBoundingClientRect();
  return [box.left + 10 + (box.width - 20) * field.value / 1000, box.top + box.height / 2];
})("%s")"""


def drag(tab, handle, by):
    """Takes the handle of a slider that lies on the time line, and moves it."""
    x, y = tab.run(MIDDLE % handle)
    for kind, at in (("mousePressed", x), ("mouseMoved", x + by / 2), ("mouseMoved", x + by), ("mouseReleased", x + by)):
        tab.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)


@pytest.mark.long
@needs_chromium
def test_an_address_that_follows_has_the_time_that_is_shown(shop, tab):
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 2, "profiles are kept", 0.3)
    open_shop(tab, port)
    assert "last=" not in tab.run("location.hash")
    change(tab, "window", "900")
    tab.wait("location.hash.includes('last=900')", "the address tells")
    address = tab.run("location.href")
    tab.open("about:blank")
    tab.open(address)
    tab.wait("!document.getElementById('drawn').hidden", "a flame graph")
    assert tab.run("document.getElementById('window').value") == "900"
    assert tab.run("document.getElementById('follow').checked")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
@pytest.mark.parametrize("width", [1280, 400])
def test_handles_on_the_time_line_choose_a_range(shop, tab, width):
    """By the pointer and by keys; no handle passes the other, and the page is no wider than the screen."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 2, "profiles are kept", 0.3)
    tab.resize(width, 900)
    open_shop(tab, port)
    ends = "['from', 'to'].map(id => Number(document.getElementById(id).value))"
    line = tab.run("document.getElementById('line').clientWidth")
    tab.run("document.getElementById('line').scrollIntoView({block: 'center'})")
    drag(tab, "from", line / 2)
    assert tab.run(ends)[0] == pytest.approx(500, abs=15) and tab.run(ends)[1] == 1000
    assert not tab.run("document.getElementById('follow').checked")
    tab.wait("location.hash.includes('from=')", "the address tells")
    drag(tab, "to", -line / 4)
    assert tab.run(ends)[1] == pytest.approx(750, abs=15)
    drag(tab, "from", line)
    assert 0 < tab.run(ends)[1] - tab.run(ends)[0] <= 2 and tab.run(ends)[1] == pytest.approx(750, abs=15)
    drag(tab, "from", -line / 4)
    assert tab.run(ends)[0] == pytest.approx(500, abs=20)
    before = tab.run(ends)
    tab.run("document.getElementById('to').focus()")
    tab.key("ArrowRight")
    assert tab.run(ends) == [before[0], before[1] + 1]
    assert re.match(r"[\d:-]+", tab.run("document.getElementById('to').getAttribute('aria-valuetext')"))
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert [one for one in tab.problems if "404" not in one] == []


# It takes so little before that serve() cannot lose as much as cook() gains, however little CPU time there is.
SLOWER = """
import os, sys, time
def cook(end):
    while time.thread_time() < end:
        sum(range(1000))
def serve(end):
    while time.thread_time() < end:
        sum(range(1000))
print("{}", flush=True)
while True:
    begin = time.monotonic()
    cook(time.thread_time() + (0.02 if os.path.exists(sys.argv[1]) else 0.001))
    serve(time.thread_time() + 0.001)
    time.sleep(max(0, begin + 0.05 - time.monotonic()))
"""


@pytest.mark.long
@needs_chromium
def test_it_shows_what_got_slower_since_a_time(agent, start, tmp_path, tab):
    """What got slower since then? The time is typed in, and compared with the time before: first in the table, with a plus."""
    port, script, slow = pages.free_port(), tmp_path / "desk_slower.py", tmp_path / "slow"
    script.write_text(SLOWER)
    target = start(pages.PYTHON, str(script), str(slow))
    target.read_json()
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port))
    run.wait_for([target.pid])
    live.wait_until(lambda: kept(port) >= 5, "profiles of before", 0.3)
    since, before = int(time.time()) + 1, kept(port)
    time.sleep(max(0, since - time.time()))
    slow.touch()
    live.wait_until(lambda: kept(port) >= before + 5, "profiles of after", 0.3)

    tab.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kathmandu")
    open_shop(tab, port, boxes=3)
    tab.run("""(ms => {
      const field = document.getElementById("since");
      field.value = new Date(ms - 60000 * new Date(ms).getTimezoneOffset()).toISOString().slice(0, 19);
      field.dispatchEvent(new Event("change"));
    })(%d)""" % (1000 * since))
    change(tab, "compare", "before")
    tab.wait("document.getElementById('about').textContent.includes('against')", "a difference")
    rows = tab.run("[...document.querySelectorAll('#top tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    heads = tab.run("[...document.querySelectorAll('#top th')].map(cell => cell.textContent)")
    assert heads[:4] == ["change", "before", "after", "in total"] and tab.run(TEXT % "top-title") == "Functions that changed most"
    assert rows[0][4] == "cook" and rows[0][0].startswith("+"), rows
    assert re.search("time of Asia/Kat[h]?mandu", tab.run(TEXT % "axis")) and "UTC" not in tab.run("document.body.innerText"), "one time zone"
    assert time.strftime("from=%Y-%m-%dT%H%%3A%M%%3A%S", time.gmtime(since)) in tab.run("location.hash")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_it_shows_what_has_a_label(shop, tab):
    """By the name of a thread: what the main one has, then all again; the address holds it."""
    run, port, targets = shop
    run.ini.write_text(run.ini.read_text().replace("service = shop\n", "service = shop\nsplit = thread\n"))
    run.process.send_signal(1)
    span = {"service": "shop", "from": 0, "to": FOREVER_MS}
    live.wait_until(lambda: kept(port) and ["thread name", "MainThread"] in ask(port, "graph", **span)["labels"], "names of threads", 0.3)
    main, idler = (ask(port, "graph", label="thread name=" + name, **span) for name in ("MainThread", "idler"))
    assert "brew" in totals(main)[1] - totals(idler)[1] and "idle" in totals(idler)[1] - totals(main)[1]

    open_shop(tab, port)
    change(tab, "what", "wall")
    tab.wait("!document.getElementById('by-label').hidden && !!" + BOX % "idle", "threads can be chosen")
    change(tab, "label", "thread name=idler")
    tab.wait("!(%s)" % BOX % "brew", "its own")
    assert tab.run(TEXT % "line-title") == "Time line of shop, thread name: idler"
    assert " · thread name: idler" in tab.run(TEXT % "about") and "label=thread+name%3Didler" in tab.run("location.hash")
    address = tab.run("location.href")
    tab.resize(400, 900)
    tab.run("document.getElementById('label').add(new Option('thread name: ' + 'Worker'.repeat(30), 'x'))")
    assert tab.run("document.documentElement.scrollWidth") <= 400, "a long name makes the page no wider"
    tab.resize(1280, 900)
    change(tab, "label", "")
    tab.wait("!!" + BOX % "brew", "all again")
    tab.open("about:blank")
    tab.open(address)
    tab.wait("!!" + BOX % "idle", "as the address says")
    assert not tab.run("!!" + BOX % "brew") and tab.run("document.getElementById('label').value") == "thread name=idler"
    assert tab.problems == []


CLICK = "[...document.querySelectorAll('#targets tbody button')].find(button => button.getAttribute('aria-label') === '%s').click()"
TEXT = "document.getElementById('%s').textContent"
COLOUR = "getComputedStyle(%s).backgroundColor"
BOX = "[...document.querySelectorAll('#graph div')].find(box => box.textContent === '%s')"


def change(tab, field, value):
    """Chooses as a hand would."""
    tab.run("""((id, value) => {
      const select = document.getElementById(id);
      select.value = value;
      select.dispatchEvent(new Event("change"));
    })("%s", "%s")""" % (field, value))


def shade(tab, name):
    """Hue, saturation and value of a function's box, from 0 to 1."""
    return colorsys.rgb_to_hsv(*[int(part) / 255 for part in re.findall(r"\d+", tab.run(COLOUR % BOX % name))[:3]])


@pytest.mark.long
@needs_chromium
def test_a_browser_shows_one_process_by_itself(shop, tab):
    """Its time line and flame graph of what the store holds, then again those of all."""
    _, port, targets = shop
    live.wait_until(lambda: kept(port) >= 4, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.wait("!!" + BOX % "bake", "both are there")
    tab.run("document.getElementById('follow').click()")
    tab.run(CLICK % ("time line of process %d" % targets["brew"].pid))

    tab.wait("document.getElementById('about').textContent.includes('process %d')" % targets["brew"].pid, "its own")
    assert tab.run("document.getElementById('line-title').textContent") == "Time line of shop, process %d" % targets["brew"].pid
    assert tab.run(BOX % "brew" + " !== undefined") and not tab.run(BOX % "bake" + " !== undefined")
    assert tab.run("document.querySelectorAll('#line .point').length") >= 4
    change(tab, "compare", "before")
    tab.wait("/against|no profile/.test(document.getElementById('about').textContent + document.getElementById('nothing').textContent)", "it is compared")
    change(tab, "compare", "")
    tab.run("document.getElementById('all').click()")
    tab.wait("!!" + BOX % "bake", "all again")
    assert tab.run("document.getElementById('line-title').textContent") == "Time line of shop"
    assert tab.run("document.getElementById('all').hidden")
    assert [one for one in tab.problems if "404" not in one] == []


@pytest.mark.long
@needs_chromium
def test_a_browser_turns_colours_and_measures(shop, tab):
    """Flame or icicle, colour by module, dark mode, share of total, the reset button."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 3, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("document.getElementById('follow').click()")
    change(tab, "what", "wall")  # in which a thread has its part that does nothing
    tab.wait("!!" + BOX % "Thread._bootstrap", "wall time")

    top = "(%s).getBoundingClientRect().top" % (BOX % "brew")
    caller = "document.querySelector('#graph div').getBoundingClientRect().top"
    assert tab.run(top) > tab.run(caller), "an icicle: the root is above"
    tab.run("document.getElementById('flip').click()")
    assert tab.run(top) < tab.run(caller), "a flame: the root is below"
    tab.run("document.getElementById('flip').click()")
    assert tab.run(top) > tab.run(caller)

    brew, thread = shade(tab, "brew"), shade(tab, "Thread._bootstrap")
    assert "this program" in tab.run(TEXT % "legend")
    assert 0.07 < brew[0] < 0.13 and 0.56 < thread[0] < 0.65, "the program's own; what is installed"
    change(tab, "colour", "module")
    brew, bake, thread = (tab.run(COLOUR % BOX % name) for name in ("brew", "bake", "Thread._bootstrap"))
    assert brew == bake != thread, "one folder; threading"
    change(tab, "colour", "kind")

    light = tab.run(COLOUR % "document.body")
    tab.colours("dark")
    dark = tab.run(COLOUR % "document.body")
    tab.colours("light")
    assert light != dark and tab.run(COLOUR % "document.body") == light, "as the system asks for"
    tab.run("document.getElementById('theme').click()")
    assert tab.run(COLOUR % "document.body") == dark
    tab.run("document.getElementById('theme').click()")
    assert tab.run(COLOUR % "document.body") == light

    share = float(re.search(r"brew, ([0-9.]+) %", tab.run("(%s).getAttribute('aria-label')" % (BOX % "brew"))).group(1))
    width, whole = tab.run(WIDTH % "brew"), tab.run("document.getElementById('graph').clientWidth")
    assert abs(share / 100 - width / whole) < 0.02, (share, width, whole)
    tab.run("(%s).click()" % (BOX % "brew"))
    assert "%.2f %% of all, 100.00 %% of what is shown" % share in tab.run(TEXT % "say")
    tab.run("document.getElementById('reset').click()")
    assert abs(tab.run(WIDTH % "brew") - width) < 2 and tab.run("document.getElementById('reset').disabled")
    assert tab.problems == []


HANGING = """
import ctypes
print("{}", flush=True)
ctypes.PyDLL(None).usleep(60000000)
"""


@pytest.mark.long
@needs_chromium
def test_a_browser_shows_health_and_a_hang(agent, start, tmp_path, tab):
    """The agent, an exporter that cannot send, and a process that hangs."""
    port = pages.free_port()
    pages.start_target(start, tmp_path, "desk_brew.py", "brew")
    script = tmp_path / "desk_hangs.py"
    script.write_text(HANGING)
    hanging = start(pages.PYTHON, str(script))
    hanging.read_json()
    ini = pages.ini_of(tmp_path, "127.0.0.1:%d" % port).replace("service = shop\n", "service = shop\nhang_after = 1s\n")
    run = agent(ini + "[exporter lost]\ntype = pyroscope\nurl = http://127.0.0.1:9\n")
    run.wait_for([hanging.pid])
    live.wait_until(lambda: kept(port) >= 1, "profiles are kept", 0.3)
    tab.open("http://127.0.0.1:%d/" % port)
    tab.wait("document.querySelectorAll('#targets tbody tr').length === 2", "both processes")

    row = "[...document.querySelectorAll('#targets tbody tr')].find(row => row.cells[0].textContent === '%d').cells[2]" % hanging.pid
    tab.wait("/^sampled; hangs for [0-9]+ s: stuck, thread %d$/.test((%s).textContent)" % (hanging.pid, row), "it hangs")
    assert tab.run("(%s).className" % row) == "bad" and " · 1 hang" in tab.run(TEXT % "health")
    exporter = "[...[...document.querySelectorAll('#exporters tbody tr')].find(row => row.cells[0].textContent === '%s').cells].map(cell => cell.textContent)"
    tab.wait("(%s)[9] !== ''" % (exporter % "lost"), "it is said that it fails")
    tab.wait("Number((%s)[2]) > 0" % (exporter % "out"), "the store takes profiles")
    assert "1 exporter failed last" in tab.run(TEXT % "health") and "2 of 2 processes sampled" in tab.run(TEXT % "health")
    facts = tab.run("[...document.querySelectorAll('#facts dd')].map(one => one.textContent)")
    assert str(run.process.pid) in facts and any("MiB" in one for one in facts) and all(facts[:8]), facts
    tab.run(CLICK % ("threads of process %d" % hanging.pid))
    tab.wait("/The GIL is held by /.test(document.getElementById('holder').textContent)", "who holds the GIL")
    assert tab.problems == []


@pytest.mark.long
@needs_chromium
def test_a_browser_survives_what_it_looks_at(shop, tab):
    """A target that dies, then the agent; nothing is asked of anybody else."""
    run, port, targets = shop
    live.wait_until(lambda: kept(port) >= 1, "profiles are kept", 0.3)
    open_shop(tab, port)
    tab.run("[...document.querySelectorAll('#targets tbody button')].find(button => button.getAttribute('aria-label').endsWith(' %d')).click()" % targets["bake"].pid)
    tab.wait("document.querySelectorAll('#threads tbody tr').length >= 2", "its threads")
    tab.wait("/The GIL is held by|Nobody holds/.test(document.getElementById('holder').textContent)", "who holds the GIL")
    tab.run("document.querySelector('#threads summary').click()")
    targets["bake"].stop()
    tab.wait("document.querySelectorAll('#targets tbody tr').length === 1", "it is gone from the list")
    tab.wait("/no process|cannot be read|No such|took too long/.test(document.getElementById('holder').textContent)", "it is said to be gone")
    assert tab.run(WIDTH % "brew") > 0, "the flame graph is there still"
    assert all("404" in problem or "503" in problem for problem in tab.problems), tab.problems
    assert all(one.startswith(("http://127.0.0.1:%d/" % port, "data:")) for one in tab.requests), tab.requests

    assert run.stop()[0] == 0
    tab.wait("!document.getElementById('trouble').hidden", "no agent is said")


@pytest.mark.long
@needs_chromium
def test_a_tool_finds_nothing_that_keeps_people_out(shop, tab):
    """Labels, roles, contrast: at both colour schemes, with all parts to be seen, zoomed and found."""
    _, port, _ = shop
    live.wait_until(lambda: kept(port) >= 2, "profiles are kept", 0.3)
    with open(axe.ensure(print), encoding="utf-8") as file:
        script = file.read()
    for scheme, width in (("light", 1280), ("dark", 400)):
        tab.colours(scheme)
        tab.resize(width, 900)
        open_shop(tab, port)
        tab.run("document.querySelector('#targets tbody button').click()")
        tab.wait("document.querySelectorAll('#threads tbody tr').length >= 2", "threads")
        tab.run(SEARCH % "warm")
        tab.run("document.getElementById('pause').click()")
        tab.run(script + "; undefined")
        found = tab.run("axe.run({resultTypes: ['violations']}).then(result => result.violations.map(one => "
                        "[one.id, one.impact, one.nodes.slice(0, 3).map(node => node.html + node.failureSummary)]))")
        assert found == [], json.dumps(found, indent=1)
