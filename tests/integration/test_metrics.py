# SPDX-License-Identifier: Apache-2.0
"""The agent's HTTP server: metrics as Prometheus reads them, health, and what it refuses."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

import live
import pages

INI = ("[agent]\ninterval = 1s\nscan = 200ms\ncontrol = %(dir)s/c.sock\n[http]\nlisten = 127.0.0.1:%(port)d\n"
       "[target one]\ncmdline = %(dir)s/one\n[exporter out]\ntype = store\npath = %(dir)s/store\n")
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)$')


def free_port():
    return live.free_ports(1)[0]


def ask(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=live.DEADLINE_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    except OSError:
        return 0, "", {}
    finally:
        connection.close()


def parse(text):
    """{name: {labels: value}}; each sample must follow the HELP and TYPE of its metric."""
    found, current, kinds = {}, None, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in kinds, "told twice: " + current
        elif line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name == current and kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == name.endswith("_total")
            kinds[name] = kind
        else:
            match = SAMPLE.match(line)
            assert match, "no sample: " + line
            name = match.group(1)
            base = re.sub("_(bucket|sum|count)$", "", name) if kinds[current] == "histogram" else name
            assert base == current, "out of place: " + line
            series = found.setdefault(name, {})
            assert (match.group(2) or "") not in series, "twice: " + line
            series[match.group(2) or ""] = float(match.group(3))
    return found


def test_metrics_are_what_prometheus_reads_and_bounded(pystrobe, agent, tmp_path):
    port = free_port()
    run = agent(INI % {"dir": tmp_path, "port": port})
    live.wait_until(lambda: ask(port, "/readyz")[0] == 200, "it is ready", 0.1)
    status, text, headers = ask(port, "/metrics", Host="localhost:%d" % port)

    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    metrics = parse(text)
    assert metrics["pystrobe_config_last_reload_successful"] == {"": 1}
    assert metrics["pystrobe_targets"]['state="sampled"'] == 0
    buckets = [value for labels, value in metrics["pystrobe_push_duration_seconds_bucket"].items()]
    assert buckets == sorted(buckets)
    assert metrics["process_open_fds"][""] > 3
    assert run.stop()[0] == 0


def assert_sum_fits(buckets, total):
    """A sum of seconds is what its buckets say, however long anything took."""
    least, most, count, below = 0, 0, 0, 0
    for labels, counted in buckets.items():
        bound = float(re.search(r'le="([^"]+)"', labels).group(1).replace("+Inf", "inf"))
        least, most = least + (counted - count) * below, most + ((counted - count) * bound if counted > count else 0)
        count, below = counted, bound
    assert 0 < total and 0.999 * least <= total <= 1.001 * most, (total, buckets)


def test_a_server_that_is_down_fails_no_health(agent, start, tmp_path):
    """Or whoever looks at it would start all agents anew. No label has a process or a path."""
    port = free_port()
    target = pages.start_target(start, tmp_path, "one.py", "hot")
    text = INI.replace("type = store\npath = %(dir)s/store\n", "type = pyroscope\nurl = http://127.0.0.1:9\n")
    run = agent(text.replace("[http]", "spool = %(dir)s/spool\nspool_max_size = 20MiB\n[http]") % {"dir": tmp_path, "port": port})
    run.wait_for([target.pid])

    def failed():
        found = parse(ask(port, "/metrics")[1])
        return found if sum(found["pystrobe_push_retries_total"].values()) >= 2 else None

    metrics = live.wait_until(failed, "pushes fail", 0.1)
    assert ask(port, "/healthz")[:2] == (200, "ok\n") and ask(port, "/readyz")[:2] == (200, "ready\n")
    assert metrics["pystrobe_spool_limit_bytes"] == {"": 20 << 20}
    assert metrics["pystrobe_targets"]['state="sampled"'] == 1 and metrics["pystrobe_last_push_success_timestamp_seconds"]
    times, failures = metrics["pystrobe_sample_duration_seconds_bucket"], sum(metrics["pystrobe_samples_failed_total"].values())
    assert 0 < times['le="+Inf"'] == metrics["pystrobe_sample_duration_seconds_count"][""] <= metrics["pystrobe_samples_total"][""] + failures
    assert list(times.values()) == sorted(times.values())
    assert_sum_fits(times, metrics["pystrobe_sample_duration_seconds_sum"][""])
    labels = {name for series in metrics.values() for labels in series for name in re.findall(r'(\w+)="', labels)}
    assert labels == {"version", "revision", "state", "reason", "kind", "outcome", "exporter", "code", "le",
                      "service"}
    values = " ".join(labels for series in metrics.values() for labels in series)
    assert str(target.pid) not in values and str(tmp_path) not in values


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool")
def test_promtool_has_nothing_to_say(agent, tmp_path):
    port = free_port()
    agent(INI % {"dir": tmp_path, "port": port})
    live.wait_until(lambda: ask(port, "/readyz")[0] == 200, "it is ready", 0.1)
    done = subprocess.run(["promtool", "check", "metrics"], input=ask(port, "/metrics")[1], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_dashboard_and_alerts_use_metrics_that_there_are(pystrobe, agent, tmp_path):
    """And only labels that these have, as far as they have samples yet."""
    folder = os.path.join(live.TREE, "packaging", "grafana")
    with open(os.path.join(folder, "pystrobe.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    with open(os.path.join(folder, "alerts.yml"), encoding="utf-8") as file:
        rules = file.read()
    alerts = re.findall(r"^ +expr: (.+)$", rules, re.M)
    shown = [query["expr"] for panel in panels for query in panel.get("targets", [])]
    expressions = shown + alerts
    port = free_port()
    run = agent(INI.replace("[http]", "spool = %(dir)s/spool\n[http]") % {"dir": tmp_path, "port": port})
    live.wait_until(lambda: ask(port, "/readyz")[0] == 200, "it is ready", 0.1)
    text = ask(port, "/metrics")[1]
    there = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    labels = set(re.findall(r'[{,](\w+)="', text)) | {"instance"}

    used = {re.sub("_bucket$", "", name) for one in expressions for name in re.findall(r"pystrobe_\w+", one)}
    assert len(used) > 20 and used <= there, used - there
    for name in ("pystrobe_exporter_behind", "pystrobe_queue_oldest_seconds"):
        assert name in " ".join(shown) and name in " ".join(alerts)
    assert {"pystrobe_targets_hanging", "pystrobe_hangs_total"} <= set(re.findall(r"pystrobe_\w+", " ".join(shown)))
    cells = [(x, y) for place in (panel["gridPos"] for panel in panels) for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])]
    assert len(cells) == len(set(cells)) and len({panel["id"] for panel in panels}) == len(panels), "panels lie on each other"
    assert set(re.findall(r"\$labels\.(\w+)", rules)) <= labels
    named = {label for one in expressions for label in re.findall(r"[{,](\w+)!?=~?\"", one)}
    grouped = {label for one in expressions for group in re.findall(r"by \(([^)]*)\)", one) for label in group.split(", ")}
    assert (named | grouped) <= labels, (named | grouped) - labels
    assert run.stop()[0] == 0


def test_it_only_reads_and_answers_to_no_foreign_name(pystrobe, agent, tmp_path):
    port = free_port()
    run = agent(INI % {"dir": tmp_path, "port": port})
    live.wait_until(lambda: ask(port, "/healthz")[0] == 200, "it is healthy", 0.1)

    assert ask(port, "/metrics", method="POST")[0] == 405
    assert ask(port, "/metrics", method="DELETE")[0] == 405
    assert ask(port, "/metrics", Host="evil.example")[0] == 421
    assert ask(port, "/reload")[0] == 404
    status, text, headers = ask(port, "/metrics", method="HEAD")
    assert status == 200 and text == ""
    assert ask(port, "/metrics", **{"X-Long": "x" * 20000})[0] in (0, 400, 413, 431)
    hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(16)]
    assert ask(port, "/healthz")[0] == 200
    assert run.stop()[0] == 0
    for client in hanging:
        client.close()


def test_an_address_that_cannot_be_had_is_told(pystrobe, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (tmp_path / "a.ini").write_text(INI % {"dir": tmp_path, "port": taken.getsockname()[1]})
        done = pystrobe.run("agent", "-c", tmp_path / "a.ini")
    assert done.returncode == 1 and "Address already in use" in done.stderr
