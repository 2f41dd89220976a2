# SPDX-License-Identifier: Apache-2.0
"""Numbers to plan with: what an agent takes by what its processes do, and what is left of the rate under max_cpu = 1%."""

import statistics

import scale_agent

# What the processes of a row do: (seconds between two pieces of work, milliseconds of CPU time of one).
IDLE, WAKEFUL, BUSY = (1e6, 1), (0.02, 0.1), (0.001, 1000)
TEXTS = {IDLE: "asleep", WAKEFUL: "wakes up 50 times a second, 0.5 % busy", BUSY: "busy all the time"}
# (processes, threads of each, rate, what they do, also measured with the limit)
ROWS = (
    (10, 1, 19, IDLE, False), (100, 8, 19, IDLE, False), (1000, 8, 19, IDLE, False),
    (10, 1, 19, WAKEFUL, False), (50, 1, 19, WAKEFUL, True), (50, 21, 19, WAKEFUL, True), (50, 1, 100, WAKEFUL, True),
    (200, 1, 19, WAKEFUL, True), (2, 1, 19, BUSY, False), (2, 1, 100, BUSY, True),
)
LIMIT = "1%"
LIMIT_SETTLE_S = 65  # the agent keeps to it over a minute


def run(args, program, mark, point, max_cpu):
    """Medians of the rounds."""
    settle = args.settle if max_cpu == scale_agent.UNLIMITED else max(args.settle, LIMIT_SETTLE_S)
    taken = [scale_agent.run(program, mark, point, settle, args.seconds, max_cpu) for _ in range(args.rounds)]
    return {key: statistics.median(row[key] for row in taken) for key in ("cpu", "rss_mib", "rate_hz")}


def measure(program, args, make_point, log):
    """The rows, as dictionaries; `limited` is None where a row is measured without the limit only."""
    rows = []
    for processes, threads, rate, work, has_limit in ROWS:
        point = make_point(processes, threads, rate, 0, *work)
        with scale_agent.targets(args.python, point, args.fresh) as mark:
            free = run(args, program, mark, point, scale_agent.UNLIMITED)
            limited = run(args, program, mark, point, LIMIT) if has_limit else None
        rows.append({"processes": processes, "threads": threads, "rate": rate, "does": TEXTS[work], "free": free,
                     "limited": limited})
        log("plan, row %d of %d: %s" % (len(rows), len(ROWS), line_of(rows[-1])))
    return rows


def limit_text(row):
    """CPU time under the limit, and the rate that is left of the one asked for."""
    limited = row["limited"]
    return "%.1f %%, %.2g Hz" % (100 * limited["cpu"], limited["rate_hz"]) if limited else "as without"


def line_of(row):
    """One line of the table."""
    return "| %d | %d | %s | %d Hz | %.2f | %.0f | %s |" % (
        row["processes"], row["threads"], row["does"], row["rate"], 100 * row["free"]["cpu"], row["free"]["rss_mib"],
        limit_text(row))


def markdown(rows):
    """The table as README has it."""
    head = ["processes", "threads of each", "each", "rate", "% of a core", "memory, MiB", "with `max_cpu = %s`" % LIMIT]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *map(line_of, rows)])
