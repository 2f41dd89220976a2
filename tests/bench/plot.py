# SPDX-License-Identifier: Apache-2.0
"""Draws lines on logarithmic axes as SVG, one panel beside the other."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 450, 360  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 92, 30, 76, 56  # around its axes
# Told apart by everybody, and in black and white by their marks.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
MARKS = ("circle", "square", "diamond", "cross")
STYLE = ("text{font-family:Helvetica,Arial,sans-serif;fill:#222}.title{font-size:17px;font-weight:bold}"
         ".panel{font-size:14px;font-weight:bold}.axis{font-size:12px}.tick{font-size:11px}"
         ".grid{stroke:#ddd;stroke-width:1}.frame{fill:none;stroke:#666}.line{fill:none;stroke-width:2}")


def decades(values):
    """The powers of ten, as exponents, that hold all values: (least, most), never the same."""
    low = math.floor(math.log10(min(values)) + 1e-9)
    high = math.ceil(math.log10(max(values)) - 1e-9)
    return low, max(high, low + 1)


def scale(value, span, start, end):
    """Where a value lies between two places, on an axis over those decades."""
    low, high = span
    return start + (math.log10(value) - low) / (high - low) * (end - start)


def tick_text(exponent):
    return "%g" % 10 ** exponent if exponent < 0 else "{:,}".format(10 ** exponent)


def text(x, y, words, kind, anchor="middle", more=""):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s"%s>%s</text>' % (x, y, kind, anchor, more, escape(words))


def mark(x, y, index):
    colour, shape = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
    if shape == "circle":
        return '<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>' % (x, y, colour)
    if shape == "square":
        return '<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>' % (x - 4, y - 4, colour)
    if shape == "diamond":
        return '<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="%s"/>' % (x, y - 5, colour)
    return '<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>' % (x - 4, y - 4, colour)


def grid(spans, left):
    """The lines and figures of both axes."""
    parts = []
    right, top, bottom = left + WIDTH - LEFT - RIGHT, TOP, HEIGHT - BOTTOM
    for exponent in range(spans[0][0], spans[0][1] + 1):
        x = scale(10 ** exponent, spans[0], left, right)
        parts.append('<path d="M%.1f %dV%d" class="grid"/>' % (x, top, bottom))
        parts.append(text(x, bottom + 16, tick_text(exponent), "tick"))
    for exponent in range(spans[1][0], spans[1][1] + 1):
        y = scale(10 ** exponent, spans[1], bottom, top)
        parts.append('<path d="M%.1f %.1fH%.1f" class="grid"/>' % (left, y, right))
        parts.append(text(left - 6, y + 4, tick_text(exponent), "tick", "end"))
    parts.append('<rect x="%.1f" y="%d" width="%d" height="%d" class="frame"/>' % (left, top, right - left, bottom - top))
    return parts


def line(points, spans, left, index):
    right, bottom = left + WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM
    places = [(scale(x, spans[0], left, right), scale(y, spans[1], bottom, TOP)) for x, y in points]
    path = "M" + "L".join("%.1f %.1f" % place for place in places)
    drawn = '<path d="%s" class="line" stroke="%s"/>' % (path, COLOURS[index % len(COLOURS)])
    return [drawn] + [mark(x, y, index) for x, y in places]


def panel(plotted, offset, names, measured):
    left, middle = offset + LEFT, offset + LEFT + (WIDTH - LEFT - RIGHT) / 2
    points = [point for drawn in plotted["lines"].values() for point in drawn]
    parts = [text(middle, TOP - 12, plotted["title"], "panel")]
    if not points:
        return parts + [text(middle, HEIGHT / 2, "not measured", "axis")]
    spans = decades([x for x, _ in points]), decades([y for _, y in points])
    parts += grid(spans, left)
    for name, drawn in plotted["lines"].items():
        parts += line(drawn, spans, left, names.index(name))
    parts.append(text(middle, HEIGHT - BOTTOM + 38, plotted["axis"], "axis"))
    turned = ' transform="rotate(-90 %.1f %.1f)"' % (offset + 24, HEIGHT / 2)
    return parts + [text(offset + 24, HEIGHT / 2, measured, "axis", more=turned)]


def legend(names, width):
    parts, x = [], width - 20
    for index, name in reversed(list(enumerate(names))):
        x -= 7 * len(name) + 40
        parts.append('<path d="M%.1f 24h24" stroke="%s" stroke-width="2"/>' % (x, COLOURS[index % len(COLOURS)]))
        parts.append(mark(x + 12, 24, index))
        parts.append(text(x + 30, 28, name, "axis", "start"))
    return parts


def svg(panels, title, measured="median of a call, µs"):
    """`panels`: [{"title", "axis", "lines": {name: [(x, y), ...]}}], all values above 0."""
    names = list(dict.fromkeys(name for one in panels for name in one["lines"]))
    width = WIDTH * max(1, len(panels))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">'
             % (width, HEIGHT, width, HEIGHT), "<style>%s</style>" % STYLE,
             '<rect width="%d" height="%d" fill="#fff"/>' % (width, HEIGHT), text(20, 30, title, "title", "start")]
    parts += legend(names, width)
    for number, one in enumerate(panels):
        parts += panel(one, number * WIDTH, names, measured)
    return "\n".join(parts + ["</svg>"]) + "\n"
