# SPDX-License-Identifier: Apache-2.0
"""A small service: threads that run through the standard library and mostly wait there, as for a database.

    stdlib.py MARK SEED

The seed decides how deep its calls are and which parts of the library it uses, so that services differ in stacks.
"""

import ast
import asyncio
import concurrent.futures
import contextlib
import copy
import csv
import difflib
import functools
import html.parser
import json
import logging
import pprint
import random
import re
import string
import sys
import threading
import time
import tokenize
import xml.sax

BURN = 300  # turns of a loop at each wait: some 10 us
DICE = random.Random(int(sys.argv[2]))


def wait(*_):
    sum(range(BURN))
    time.sleep(DICE.random() * 0.2)
    return 0


class Waits:
    def __deepcopy__(self, memo):
        wait()
        return self

    def __repr__(self):
        return str(wait())

    def __lt__(self, other):
        return wait() > 0


class Handler(logging.Handler):
    def emit(self, record):
        wait()


class Content(xml.sax.ContentHandler):
    def startElement(self, name, attrs):
        wait()

    def characters(self, content):
        wait()


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        wait()

    def handle_data(self, data):
        wait()


class Visitor(ast.NodeVisitor):
    def visit_Name(self, node):
        wait()

    def visit_Constant(self, node):
        wait()


def lines():
    for number in range(4):
        wait()
        yield "a%d,b,c\n" % number


async def gather():
    async def one(depth):
        if depth:
            await one(depth - 1)
        else:
            await asyncio.to_thread(wait)

    await asyncio.gather(*[one(DICE.randrange(6)) for _ in range(4)])


def pool():
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        list(executor.map(wait, range(6)))


def stack():
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.callback(wait)


LOGGER = logging.getLogger("service")
LOGGER.addHandler(Handler())
LOGGER.propagate = False
TREE = ast.parse("def f(x):\n    if x:\n        return [g(y, 1) for y in x]\n    return {**x, 'k': (1, 2)}\n")
PARTS = [
    lambda: json.dumps([Waits(), {"k": [Waits()]}], default=wait, indent=1),
    lambda: json.loads('[{"a": 1}, {"b": {"c": 2}}]', object_hook=wait),
    lambda: re.sub("[aeiou]", lambda match: str(wait()), "a regular expression"),
    lambda: copy.deepcopy([Waits(), {"k": (Waits(), [Waits()])}]),
    lambda: pprint.pformat([Waits(), {"k": [Waits()] * 3}], width=20),
    lambda: sorted([Waits() for _ in range(4)]),
    lambda: functools.reduce(lambda a, b: a + wait(b), range(4)),
    lambda: Visitor().visit(TREE),
    lambda: LOGGER.warning("a %s", "warning"),
    lambda: xml.sax.parseString(b"<a><b>text</b><c><d>more</d></c></a>", Content()),
    lambda: Page().feed("<p>some <b>text</b> and <i>more</i>"),
    lambda: list(csv.DictReader(lines(), "xyz")),
    lambda: list(tokenize.generate_tokens(iter(lines()).__next__)),
    lambda: difflib.SequenceMatcher(wait, "abcd", "abxd").ratio(),
    lambda: string.Formatter().vformat("{a} {b!r}", (), {"a": 1, "b": Waits()}),
    lambda: asyncio.run(gather()),
    pool,
    stack,
]


def descend(depth, part):
    """A call chain of the application's own: three functions in turn."""
    return [descend, route, handle][depth % 3](depth - 1, part) if depth > 0 else part()


def route(depth, part):
    return descend(depth, part)


def handle(depth, part):
    if depth % 2:
        return route(depth, part)
    return descend(depth, part)


def work(parts, depth):
    while True:
        descend(DICE.randrange(2, depth), DICE.choice(parts))


def main():
    parts, depth = DICE.sample(PARTS, 8), DICE.randrange(5, 30)
    for number in range(3):
        threading.Thread(target=work, args=(parts, depth), name="worker-%d" % number, daemon=True).start()
    work(parts, depth)


if __name__ == "__main__":
    main()
