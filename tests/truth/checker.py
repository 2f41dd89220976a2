# SPDX-License-Identifier: Apache-2.0
"""Tells possible stacks from impossible ones, by marks in the source of the program.

A mark is a comment at the end of a line:

    # call: NAME...     this line calls these functions; <share> stands for all with a share
                        mark, <library> for any function of a file without marks, <made> for
                        those of a file that the program makes as it runs
    # via: NAME...      on a calling line: only while this function was called by one of these
    # share: NAME       (on a def) time in it, and in what it calls, counts as this share
    # root              (on a def) a thread may begin here
    # from: library     (on a def) code of a file without marks may call it, or what made its file

A caller must stand on a line that calls its callee, the innermost frame on a line of its own
function, and a stack must begin at <module> or at a root.
"""

import ast
import functools
import io
import re
import tokenize

MARK = re.compile(r"(call|via|share|from): ([^:#]+?)(?=\s+(?:via|share|from|root|lineless)\b|\s*$)|\b(root|lineless)\b")
COMPREHENSIONS = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}
INLINED_FROM = 12  # comprehensions have no frame of their own from 3.12 on
LINELESS_STARTS = 10  # generators of 3.10 begin with an instruction that belongs to no line


def is_resumable(node):
    """Whether it makes a generator or a coroutine."""
    return isinstance(node, (ast.AsyncFunctionDef, ast.GeneratorExp)) or isinstance(node, ast.FunctionDef) and any(
        isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))


class Function:
    """A function of the source and what its marks allow."""

    def __init__(self, name, first_line):
        self.name, self.first_line = name, first_line
        self.lines = set()  # where its own code is
        self.calls = {}  # line -> {callee: callers it is allowed for, or None}
        self.share = None
        self.is_root = name == "<module>"
        self.is_lineless = name == "<module>"  # whose first instruction is on line 0
        self.from_library = False

    def add_mark(self, kind, names):
        if kind == "share":
            self.share = names[0]
        elif kind == "root":
            self.is_root = True
        elif kind == "lineless":
            self.is_lineless = True
        elif kind == "from":
            self.from_library = True


def marks_of(text):
    """{line: {kind: names}} of a source."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or not token.line[:token.start[1]].strip():
            continue
        for kind, names, alone in MARK.findall(token.string):
            found.setdefault(token.start[0], {})[kind or alone] = names.split()
    return found


class Source:
    """One file of the program: its functions by name."""

    def __init__(self, text, minor):
        self.minor = minor
        self.functions = {}
        self.marks = marks_of(text)
        self._used = set()
        tree = ast.parse(text)
        self._scan(tree, self._add("<module>", "<module>", tree), "")
        left = set(self.marks) - self._used
        if left:
            raise ValueError("marks on lines without code: %s" % sorted(left))

    def _add(self, name, qualname, node):
        function = Function(name, getattr(node, "lineno", 1))
        if self.minor == LINELESS_STARTS and is_resumable(node):
            function.is_lineless = True
        self.functions.setdefault(qualname if self.minor >= 11 else name, []).append(function)
        return function

    def find(self, name, line):
        """The function of that name; of several, the one that has the line."""
        functions = self.functions[name]
        return next((function for function in functions if line in function.lines), functions[0])

    def _scope(self, node, prefix):
        """(function, prefix for what it holds) if the node has a frame of its own."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = self._marked(node, self._add(node.name, prefix + node.name, node))
            function.first_line = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            return function, prefix + node.name + ".<locals>."
        name = "<lambda>" if isinstance(node, ast.Lambda) else None
        if isinstance(node, ast.GeneratorExp):
            name = "<genexpr>"
        elif type(node) in COMPREHENSIONS and self.minor < INLINED_FROM:
            name = COMPREHENSIONS[type(node)]
        if name is None:
            return None, prefix
        return self._marked(node, self._add(name, prefix + name, node)), prefix + name + ".<locals>."

    def _marked(self, node, function):
        for kind, names in self.marks.get(node.lineno, {}).items():
            function.add_mark(kind, names)
            if kind not in ("call", "via"):
                self._used.add(node.lineno)
        return function

    def _scan(self, node, function, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                raise ValueError("line %d: the body of a class is code, too; put it in another file" % child.lineno)
            own, inner = self._scope(child, prefix)
            for owner in {function, own} - {None}:
                self._own_line(child, owner)
            self._scan(child, own or function, inner)

    def _own_line(self, node, function):
        line = getattr(node, "lineno", None)
        if line is None:
            return
        function.lines.add(line)
        marks = self.marks.get(line, {})
        if "call" in marks:
            self._used.add(line)
            via = marks.get("via")
            function.calls.setdefault(line, {}).update({name: via for name in marks["call"]})


class Checker:
    """Judges the frames of a program that consists of `texts`, a {path: source}.

    `source_of` gives the source of a file that the program makes as it runs, None for others.
    """

    def __init__(self, texts, minor, source_of=lambda file: None):
        self.sources = {path: Source(text, minor) for path, text in texts.items()}
        self.share_of = {function.name: function.share for source in self.sources.values()
                         for functions in source.functions.values() for function in functions if function.share}

        @functools.lru_cache(maxsize=1024)
        def made(file):
            text = source_of(file)
            return None if text is None else Source(text, minor)

        self._made = made

    def find(self, name, file, line):
        """The function, None for one of a file without marks; raises KeyError for one that is nowhere."""
        source = self.sources.get(file) or self._made(file)
        return source and source.find(name, line)

    def is_made(self, file):
        return file not in self.sources and self._made(file) is not None

    def calls_at(self, function, line):
        calls = dict(function.calls.get(line, {}))
        if "<share>" in calls:
            calls.update({name: calls["<share>"] for name in self.share_of})
        return calls

    def place_fault(self, name, file, line, first_line):
        """What is wrong with a frame alone, or None."""
        try:
            function = self.find(name, file, line)
        except KeyError:
            return "no such function"
        if function is None:
            return None if line > 0 and file.startswith("/") and file.endswith(".py") else "foreign file"
        if line <= 0 and not function.is_lineless:
            return "no line"
        if line > 0 and line not in function.lines and line != function.first_line:
            return "line outside of its function"
        if first_line is not None and name != "<module>" and first_line != function.first_line:
            return "another function's first line"
        return None

    def root_fault(self, name, file, line):
        function = self.find(name, file, line)
        return None if function is not None and function.is_root else "does not begin at the root"

    def call_fault(self, caller, callee, before):
        """What is wrong with a call; frames as (name, file, line), `before` called the caller or is None."""
        outer, inner = self.find(*caller), self.find(*callee)
        if outer is None:
            return None if inner is None or inner.from_library else "called by a library"
        wanted = "<library>" if inner is None else inner.name
        if self.is_made(callee[1]) and callee[1] != caller[1]:
            if not inner.from_library and inner.name != "<module>":
                return "call that cannot be"
            wanted = "<made>"
        calls = self.calls_at(outer, caller[2])
        if wanted not in calls:
            elsewhere = any(wanted in self.calls_at(outer, line) for line in outer.calls)
            return "call from a line without it" if elsewhere else "call that cannot be"
        via = calls[wanted]
        if via is not None and (before is None or before[0].split(".")[-1] not in via):
            return "call for another caller"
        return None


def judge(checker, found):
    """Counts faults in what a sampler gave; see truth_sampler.c for its form.

    Gives {"shown", "impossible", "kinds", "shares": {tid: {share: ns}}, "examples"}.
    """
    functions, nodes = found["functions"], found["nodes"]
    frames = [tuple(functions[f][:2]) + (line,) for _, f, line in nodes]
    faults, shares = [], []  # of each node, with what lies below it
    for number, (parent, function, _) in enumerate(nodes):
        fault = checker.place_fault(*frames[number], functions[function][2])
        if fault is None and parent < 0:
            fault = checker.root_fault(*frames[number])
        elif fault is None and faults[parent] is None:
            grandparent = nodes[parent][0]
            before = frames[grandparent] if grandparent >= 0 else None
            fault = checker.call_fault(frames[parent], frames[number], before)
        faults.append(faults[parent] if parent >= 0 and faults[parent] else fault)
        own = checker.find(*frames[number]) if faults[-1] is None else None
        shares.append((shares[parent] if parent >= 0 else None) or (own.share if own else None))
    return add_up(found, frames, faults, shares)


def count_stale(found, generation_of):
    """How many samples show an older generation than a sample before did.

    `generation_of` gives the generation that a file's name tells, or None. Only for programs of
    one thread, whose generations come one after the other.
    """
    at = {}  # generation -> [first seen, last seen]
    generations = [generation_of(found["functions"][function][1]) for _, function, _ in found["nodes"]]
    for number, (parent, _, _) in enumerate(found["nodes"]):
        if generations[number] is None and parent >= 0:
            generations[number] = generations[parent]
    for _, node, _, _, first_ns, last_ns in found["stacks"]:
        generation = generations[node] if node >= 0 else None
        if generation is not None:
            span = at.setdefault(generation, [first_ns, last_ns])
            at[generation] = [min(span[0], first_ns), max(span[1], last_ns)]
    stale, next_first_ns = 0, float("inf")
    for generation in sorted(at, reverse=True):
        stale += at[generation][1] > next_first_ns
        next_first_ns = min(next_first_ns, at[generation][0])
    return stale


def add_up(found, frames, faults, shares):
    result = {"shown": 0, "impossible": 0, "kinds": {}, "shares": {}, "examples": []}
    for tid, node, times, weight_ns, _, _ in found["stacks"]:
        fault = faults[node] if node >= 0 else "empty"
        share = shares[node] if node >= 0 else None
        result["shown"] += times
        if fault:
            result["impossible"] += times
            result["kinds"][fault] = result["kinds"].get(fault, 0) + times
            if len(result["examples"]) < 5:
                result["examples"].append([fault] + text_of(found, frames, node))
        elif share:
            row = result["shares"].setdefault(str(tid), {})
            row[share] = row.get(share, 0) + weight_ns
    return result


def text_of(found, frames, node):
    """A stack as lines, innermost first."""
    lines = []
    while node >= 0:
        lines.append("%s %s:%d" % (frames[node][0], frames[node][1].rsplit("/", 1)[-1], frames[node][2]))
        node = found["nodes"][node][0]
    return lines
