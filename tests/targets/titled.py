# SPDX-License-Identifier: Apache-2.0
"""Gives itself a title as setproctitle does: TITLE over the memory of the arguments and the environment."""

import ctypes
import sys

with open("/proc/self/stat") as file:
    arguments, _, _, end = map(int, file.read().rpartition(")")[2].split()[45:49])
ctypes.memset(arguments, 0, end - arguments)
ctypes.memmove(arguments, sys.argv[1].encode(), min(len(sys.argv[1]), end - arguments - 1))
print("ready", flush=True)
sys.stdin.read()
