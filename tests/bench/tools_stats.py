# SPDX-License-Identifier: Apache-2.0
"""Medians, the range that a median may lie in, and text tables."""

import random
import statistics

RESAMPLES = 4000
CONFIDENCE = 0.95


def median_interval(values, seed=1):
    """The bootstrap's 95 % interval of the median: (low, high)."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = int((1 - CONFIDENCE) / 2 * RESAMPLES)
    return medians[cut], medians[-cut - 1]


def table(rows):
    """Rows of words as text: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
