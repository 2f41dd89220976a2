# SPDX-License-Identifier: Apache-2.0
"""Prints what CPython's own reader says of the asyncio tasks of a process, as JSON: PID.

Is run by an interpreter of the same version as the process's.
"""

import json
import sys

import _remote_debugging


def line_of(frame):
    return frame.lineno if hasattr(frame, "lineno") else frame.location.lineno


def main():
    unwinder = _remote_debugging.RemoteUnwinder(int(sys.argv[1]))
    tasks = {}
    for thread in unwinder.get_all_awaited_by():
        for task in thread.awaited_by:
            tasks[task.task_id] = {
                "name": task.task_name,
                "tid": thread.thread_id or None,
                "coroutines": [[frame.funcname, frame.filename, line_of(frame)]
                               for coroutine in task.coroutine_stack for frame in coroutine.call_stack],
                "awaited_by": sorted(waiter.task_name for waiter in task.awaited_by),
            }
    sys.stdout.buffer.write(json.dumps(tasks).encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main()
