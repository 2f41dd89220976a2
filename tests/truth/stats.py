# SPDX-License-Identifier: Apache-2.0
"""The statistics of the truth tests: how far a figure may be off by chance alone."""

import math

ONE_IN_A_MILLION = 1e-6


def z_of_share(share, effective, truth, truth_error):
    """How many standard errors a share is off the truth.

    The error of the samples is binomial, at the true share, of as many samples of equal weight
    as are as good as those that were taken; that of the truth adds to it.
    """
    return (share - truth) / math.sqrt(truth * (1 - truth) / effective + truth_error ** 2)


def poisson_tail(count, mean):
    """P(at least `count` events where `mean` are expected)."""
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    term = total = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    n = count
    while term > total * 1e-12 and n < count + 100000:
        n += 1
        term *= mean / n
        total += term
    return min(total, 1.0)


def z_for(probability):
    """The z that chance exceeds, to either side, with that probability."""
    low, high = 0.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        if math.erfc(middle / math.sqrt(2)) > probability:
            low = middle
        else:
            high = middle
    return high


def true_shares(board_before, board_after, names, rows, row_words, words, block_ns):
    """What the program measured between two looks at its board, summed over its threads.

    Gives {share: {"wall", "cpu", "error"}}: parts of the sums over all shares and the standard
    error of the wall part. Each block holds the cost of timing it, which is no part of the share
    and is taken off; half of that cost is the error of that.
    """
    sums = {}
    for n, name in enumerate(names):
        deltas = [[board_after[row * row_words + n * words + w] - board_before[row * row_words + n * words + w]
                   for row in range(rows)] for w in range(3)]
        wall, cpu, blocks = (sum(d) for d in deltas)
        sums[name] = {"wall": wall - blocks * block_ns, "cpu": cpu, "blocks": blocks}
    return parts_of(sums, block_ns)


def parts_of(sums, block_ns):
    wall = sum(s["wall"] for s in sums.values())
    cpu = sum(s["cpu"] for s in sums.values())
    blocks = sum(s["blocks"] for s in sums.values())
    parts = {}
    for name, s in sums.items():
        if s["blocks"] == 0:
            continue
        share = s["wall"] / wall
        # A cost misjudged by half of itself moves the share by how its blocks differ from all.
        error = abs(s["blocks"] - blocks * share) * block_ns / 2 / wall
        longest = 1.0 / min(t["blocks"] for t in sums.values() if t["blocks"])  # the blocks at both ends
        parts[name] = {"wall": share, "cpu": s["cpu"] / cpu if cpu else None, "wall_ns": s["wall"],
                       "cpu_ns": s["cpu"], "error": math.hypot(error, longest / 2 * share)}
    return parts
