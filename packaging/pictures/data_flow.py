#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the data flow of pystrobe, the picture in README's architecture page, as SVG to stdout.

    data_flow.py >packaging/pictures/data_flow.svg    (make pictures)

A box is a folder of the source, a frame around boxes is a process at run time.
"""

WIDTH, HEIGHT = 1060, 470
BOX = 62  # height of a box of two lines

# The processes: x, y, width, height, name.
FRAMES = [
    (20, 60, 150, 280, "Python processes"),
    (210, 150, 250, 190, "samplers: 1 to 4 processes"),
    (500, 20, 330, 430, "supervisor: pystrobe agent"),
    (870, 60, 170, 280, "where profiles go"),
]

# The folders and what is outside: name, x, y, width, lines of text.
BOXES = {
    "memory": (35, 195, 120, "memory", "stacks, names, GIL"),
    "proc": (35, 95, 120, "/proc", "who runs, CPU time"),
    "unwind": (225, 175, 220, "unwind/", "memory to Python stacks"),
    "sampling": (225, 260, 220, "agent/sampling", "when; whose CPU time it was"),
    "discover": (520, 50, 290, "agent/discover", "which processes, under which name"),
    "supervisor": (520, 135, 290, "agent/supervisor", "samplers, budget, quarantine"),
    "delivery": (520, 220, 290, "agent/delivery + pprof/", "encode, queue, spool, retry"),
    "exporters": (520, 305, 290, "exporters/", "bytes to a server or a folder"),
    "serve": (520, 378, 290, "agent/serve", "status, metrics, page, control"),
    "servers": (885, 95, 140, "servers", "Pyroscope, OTLP"),
    "store": (885, 195, 140, "store", "a local folder"),
    "people": (885, 378, 140, "browsers, CLI,", "Prometheus"),
}

# Arrows: points, and a text beside the first part of it (x, y, text), if any.
ARROWS = [
    ([(155, 126), (190, 126), (190, 81), (515, 81)], (200, 73, "pids, command lines")),
    ([(155, 226), (220, 226)], None),
    ([(335, 237), (335, 255)], None),
    ([(665, 112), (665, 130)], None),
    ([(520, 156), (480, 156), (480, 275), (450, 275)], None),
    ([(445, 305), (490, 305), (490, 182), (515, 182)], None),
    ([(665, 197), (665, 215)], None),
    ([(665, 282), (665, 300)], None),
    ([(810, 325), (845, 325), (845, 126), (880, 126)], None),
    ([(845, 226), (880, 226)], None),
    ([(810, 409), (880, 409)], None),
]

NOTES = [
    (356, 252, "start", "stacks"),
    (335, 358, "middle", "weighted stacks out, what to sample in"),
    (674, 212, "start", "a profile per service"),
    (674, 127, "start", "process, service name"),
    (674, 297, "start", "pprof, OTLP bytes"),
    (20, 420, "start", "Without a supervisor: `pystrobe record`, `top` and `dump`"),
    (20, 440, "start", "sample in their own process (agent/cli, agent/top, agent/dump)."),
]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(x, y, text, anchor="start", kind="note"):
    return '<text x="%d" y="%d" text-anchor="%s" class="%s">%s</text>' % (x, y, anchor, kind, escape(text))


def draw_frame(x, y, width, height, name):
    return [
        '<rect x="%d" y="%d" width="%d" height="%d" rx="8" class="process"/>' % (x, y, width, height),
        text_at(x + width / 2, y + height - 12 if name.startswith(("Python", "where")) else y + 18, name, "middle", "name"),
    ]


def draw_box(x, y, width, title, text):
    return [
        '<rect x="%d" y="%d" width="%d" height="%d" rx="4" class="folder"/>' % (x, y, width, BOX),
        text_at(x + width / 2, y + 26, title, "middle", "title"),
        text_at(x + width / 2, y + 46, text, "middle"),
    ]


def draw_arrow(points):
    path = "M" + " L".join("%d %d" % point for point in points)
    return '<path d="%s" class="arrow" marker-end="url(#head)"/>' % path


def draw():
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">'
        % (WIDTH, HEIGHT, WIDTH, HEIGHT),
        "<title>Data flow of pystrobe</title>",
        "<style>text{font:13px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}"
        ".name{fill:#555;font-size:12px}.note{fill:#444;font-size:12px}"
        ".process{fill:#f4f6f8;stroke:#8a96a3;stroke-dasharray:5 3}"
        ".folder{fill:#fff;stroke:#2b6cb0}.arrow{fill:none;stroke:#333;stroke-width:1.5}</style>",
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#333"/></marker></defs>',
        '<rect width="%d" height="%d" fill="#fff"/>' % (WIDTH, HEIGHT),
    ]
    for frame in FRAMES:
        parts += draw_frame(*frame)
    for box in BOXES.values():
        parts += draw_box(*box)
    for points, note in ARROWS:
        parts.append(draw_arrow(points))
        if note:
            parts.append(text_at(note[0], note[1], note[2]))
    parts += [text_at(x, y, text, anchor) for x, y, anchor, text in NOTES]
    return "\n".join(parts + ["</svg>"]) + "\n"


if __name__ == "__main__":
    print(draw(), end="")
