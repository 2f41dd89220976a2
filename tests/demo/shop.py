# SPDX-License-Identifier: Apache-2.0
"""A small shop to watch: a web server, a database, and customers who never stop buying.

    shop.py [--seconds N] [--share S]

One process and a dozen threads: customers order over HTTP on the loopback; each order is read by
regular expressions, priced by recursive rules, kept in SQLite and answered with a bill in JSON;
clerks in a thread pool write statistics. The customers pause so that all of it takes about the
share S (0.75) of one core. Standard library only.
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import random
import re
import sqlite3
import tempfile
import threading
import time

WARES = ["tea", "coffee", "sugar", "flour", "rice", "beans", "salt", "pepper", "honey", "soap"]
CUSTOMERS = 4
CLERKS = 3
ORDER_LINE = re.compile(r"^\s*(?P<count>\d{1,3})\s*x\s*(?P<ware>[a-z]+)(?:\s*\((?P<note>[^)]*)\))?\s*$")
GREETING = re.compile(r"\b(?:dear|hello|good (?:morning|evening))\b[\s,]*(\w+)?", re.IGNORECASE)
ADDRESS = re.compile(r"(?P<street>(?:\w+\s)+)(?P<number>\d+)\s*,\s*(?P<zip>\d{5})\s+(?P<town>\w+)")


class Pace:
    """Lets customers through only as fast as the share of one core allows."""

    def __init__(self, share):
        self.share = share
        self.started = time.monotonic()
        self.cpu_before = time.process_time()

    def wait(self):
        used = time.process_time() - self.cpu_before
        ahead = used / self.share - (time.monotonic() - self.started)
        if ahead > 0:
            time.sleep(min(ahead, 0.25))


# Prices: a tree of rules, walked by recursion.


def make_rules(depth, seed=7):
    """A rule either changes the price itself or asks both of its parts."""
    pick = random.Random(seed * 31 + depth)
    if depth == 0:
        return {"kind": pick.choice(["percent", "limit"]), "value": pick.randint(1, 9)}
    return {"kind": "both", "parts": [make_rules(depth - 1, seed * 2), make_rules(depth - 1, seed * 2 + 1)]}


RULES = make_rules(8)


def apply_percent(price, value):
    return price - price * value / 1000


def apply_limit(price, value):
    return max(price, value / 100)


def apply_rules(rule, price):
    if rule["kind"] == "both":
        for part in rule["parts"]:
            price = apply_rules(part, price)
        return price
    if rule["kind"] == "percent":
        return apply_percent(price, rule["value"])
    return apply_limit(price, rule["value"])


def price_lines(lines):
    for line in lines:
        line["price"] = apply_rules(RULES, line["count"] * len(line["ware"]) * 1.25)
    return sum(line["price"] for line in lines)


# Orders: text in, lines out.


def parse_order(text):
    lines = []
    for line in text.splitlines():
        match = ORDER_LINE.search(line)
        if match:
            lines.append({"count": int(match["count"]), "ware": match["ware"], "note": match["note"]})
    return lines


def find_address(text):
    match = ADDRESS.search(text)
    return match.groupdict() if match else None


def find_greetings(text):
    return [match[0] for match in GREETING.finditer(text)]


def make_bill(order):
    text = order["text"]
    lines = parse_order(text)
    price = price_lines(lines)
    return {
        "lines": lines, "price": price, "address": find_address(text), "greetings": find_greetings(text),
        "ledger": [dict(line, piece=number) for line in lines for number in range(line["count"])],
    }


def write_order(pick):
    small_talk = " ".join(pick.choice(WARES) for _ in range(60))
    lines = ["Good morning, shop. " + small_talk] + [
        "%d x %s (%s)" % (pick.randint(1, 40), pick.choice(WARES), "as always" * pick.randint(1, 3))
        for _ in range(pick.randint(8, 16))
    ]
    return "\n".join(lines + ["please to Long Winding Road %d, 10999 Berlin" % pick.randint(1, 99)])


# The store room: one database file, a connection a thread.


class StoreRoom:
    def __init__(self, path):
        self.path = path
        self.local = threading.local()
        self.write = threading.Lock()
        with self.connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE sales (ware TEXT, count INTEGER, price REAL)")
            connection.execute("CREATE INDEX by_ware ON sales (ware)")

    def connection(self):
        if not hasattr(self.local, "connection"):
            self.local.connection = sqlite3.connect(self.path, timeout=30)
            self.local.connection.execute("PRAGMA synchronous = OFF")
        return self.local.connection

    def keep(self, lines):
        rows = [(line["ware"], line["count"], line["price"]) for line in lines]
        with self.write, self.connection() as connection:
            connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", rows)
            connection.execute("DELETE FROM sales WHERE rowid <= (SELECT max(rowid) FROM sales) - 6000")

    def statistics(self):
        query = "SELECT ware, sum(count), avg(price), max(price) FROM sales GROUP BY ware ORDER BY 2 DESC"
        return self.connection().execute(query).fetchall()


# The counter: HTTP.


class Counter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for the customer's acknowledgement
    store_room = None

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        bill = make_bill(order)
        self.store_room.keep(bill["lines"])
        self.answer(bill)

    def do_GET(self):
        self.answer({"sold": self.store_room.statistics()})

    def answer(self, document):
        body = json.dumps(document, indent=1, sort_keys=True).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def open_shop(store_room):
    Counter.store_room = store_room
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counter)
    threading.Thread(target=server.serve_forever, name="counter", daemon=True).start()
    return server


# Those who come.


class Line:
    """A connection to the counter that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method, path, document=None):
        body = json.dumps(document) if document else None
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        return json.load(self.connection.getresponse())

    def close(self):
        self.connection.close()


def go_shopping(port, pace, closing, seed):
    """A customer's day."""
    pick = random.Random(seed)
    line = Line(port)
    while not closing.is_set():
        line.ask("POST", "/order", {"text": write_order(pick)})
        pace.wait()
    line.close()


def write_statistics(line):
    """A clerk's task: who sells best, and by how much."""
    sold = line.ask("GET", "/statistics")["sold"]
    table = ["%-10s %8d %10.2f" % (ware, count, mean) for ware, count, mean, _ in sold]
    return "\n".join(sorted(table, key=lambda row: row.split()[-1]))


def run_shop(seconds, share, folder):
    closing = threading.Event()
    server = open_shop(StoreRoom(folder + "/sales.db"))
    pace = Pace(share)
    customers = [
        threading.Thread(target=go_shopping, args=(server.server_port, pace, closing, number),
                         name="customer-%d" % number, daemon=True)
        for number in range(CUSTOMERS)
    ]
    lines = [Line(server.server_port) for _ in range(CLERKS)]
    for customer in customers:
        customer.start()
    until = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(CLERKS, thread_name_prefix="clerk") as clerks:
        while time.monotonic() < until:
            for task in [clerks.submit(write_statistics, line) for line in lines]:
                task.result()
            time.sleep(0.1)
    closing.set()
    for customer in customers:
        customer.join()
    for line in lines:
        line.close()
    server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--share", type=float, default=0.75)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        run_shop(options.seconds, options.share, folder)


if __name__ == "__main__":
    main()
