# SPDX-License-Identifier: Apache-2.0
"""CPython's own reader of other processes, as one side of the benchmark: PID OPERATION MODE.

Is run by an interpreter of the target's own version, 3.15 or later, and calls
_remote_debugging.RemoteUnwinder in a loop as CPython's own benchmark of it does
(Tools/inspection/benchmark_external_inspection.py): all threads, with its cache of frames, the
result kept until the next one is there. Takes the commands that bench_unwind.c has:

    round MS    calls for that long; {"calls", "whole", "failed", "empty", "ns": [[ns, times], ...]} and
                "sizes": [threads, frames, tasks], summed over the "looked_at" results that were looked at
    count N     N calls between two getsid(0), for strace
"""

import collections
import json
import os
import sys
import time

import _remote_debugging

METHODS = {"stack": "get_stack_trace", "async": "get_async_stack_trace", "all-tasks": "get_all_awaited_by"}
MODES = {"wall": 0, "cpu": 1, "gil": 2, "all": 3, "exception": 4}  # as profiling.sampling.constants
REFUSED = (OSError, RuntimeError, UnicodeDecodeError)
LOOK_AT = 97  # every how manyth result is counted through, between two calls


def size_of(operation, result):
    """Gives (threads, frames, tasks) of a result."""
    if operation == "stack":
        threads = [thread for interpreter in result for thread in interpreter.threads]
        return len(threads), sum(len(thread.frame_info) for thread in threads), 0
    tasks = {task.task_id: task for thread in result for task in thread.awaited_by}
    frames = [len(part.call_stack) for task in tasks.values() for part in task.coroutine_stack]
    return len(result), sum(frames), len(tasks)


def take_round(call, operation, duration_s):
    clock = time.perf_counter_ns
    took, sizes, whole, failed, result = [], [], 0, 0, None
    after = clock()
    end = after + int(duration_s * 1e9)
    while after < end:
        before = clock()
        try:
            result = call()
            if result:
                whole += 1
        except REFUSED:
            failed += 1
        after = clock()
        took.append(after - before)
        if len(took) % LOOK_AT == 1 and result:
            sizes.append(size_of(operation, result))
    return {"calls": len(took), "whole": whole, "failed": failed, "empty": len(took) - whole - failed,
            "looked_at": len(sizes), "sizes": [sum(column) for column in zip(*sizes)] or [0, 0, 0],
            "ns": sorted(collections.Counter(took).items())}


def count(call, times):
    os.getsid(0)
    for _ in range(times):
        try:
            call()
        except REFUSED:
            pass
    os.getsid(0)
    return {"calls": times}


def main():
    pid, operation, mode = int(sys.argv[1]), sys.argv[2], MODES[sys.argv[3]]
    unwinder = _remote_debugging.RemoteUnwinder(pid, all_threads=True, cache_frames=True, mode=mode)
    call = getattr(unwinder, METHODS[operation])
    print(json.dumps({"version": sys.version.split()[0]}), flush=True)
    for line in sys.stdin:
        command, number = line.split()
        if command == "round":
            print(json.dumps(take_round(call, operation, int(number) / 1e3)), flush=True)
        else:
            print(json.dumps(count(call, int(number))), flush=True)


if __name__ == "__main__":
    main()
