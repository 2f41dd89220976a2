# SPDX-License-Identifier: Apache-2.0
"""How sure one can be that something does not grow: a line through the means of blocks.

What is measured each second hangs together: it says little more than the second before. The means
of blocks that are longer than what it hangs together for (here several intervals of the agent) are
nearly independent, so the usual bounds of a regression hold for them.
"""

import collections
import math

# Of Student's distribution: so far from 0 that 2.5 % are beyond, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
           12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.0}

# An hour's growth, and the bounds that it lies between with 95 % certainty.
Slope = collections.namedtuple("Slope", "an_hour low high blocks")


def student(freedom):
    """The next smaller row of the table: never too sure."""
    return STUDENT[max(row for row in STUDENT if row <= freedom)]


def blocks_of(points, block_s):
    """[(middle, mean)] of each whole block of [(seconds, value)]."""
    found = collections.defaultdict(list)
    for at, value in points:
        found[int((at - points[0][0]) // block_s)].append(value)
    last = max(found)
    return [((number + 0.5) * block_s, sum(values) / len(values))
            for number, values in sorted(found.items()) if number < last]


def slope_of(points, block_s):
    """How much a value grows in an hour. Needs four whole blocks."""
    means = blocks_of(points, block_s)
    count = len(means)
    if count < 4:
        raise ValueError("only %d blocks of %g s" % (count, block_s))
    middle_x, middle_y = (sum(column) / count for column in zip(*means))
    spread = sum((x - middle_x) ** 2 for x, _ in means)
    slope = sum((x - middle_x) * (y - middle_y) for x, y in means) / spread
    left = sum((y - middle_y - slope * (x - middle_x)) ** 2 for x, y in means)
    unsure = student(count - 2) * math.sqrt(left / (count - 2) / spread)
    return Slope(3600 * slope, 3600 * (slope - unsure), 3600 * (slope + unsure), count)
