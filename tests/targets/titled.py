# SPDX-License-Identifier: Apache-2.0
"""Gives itself a title as setproctitle does: TITLE over the memory of the arguments and the environment."""

import ctypes
import sys

NEAR = 1 << 20  # what the process has set since is elsewhere

libc = ctypes.CDLL(None)
arguments = ctypes.c_void_p.in_dll(libc, "program_invocation_name").value
variables = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
end, i = arguments, 0
while variables[i]:
    if arguments < variables[i] < arguments + NEAR:
        end = max(end, variables[i] + len(ctypes.string_at(variables[i])))
    i += 1
ctypes.memset(arguments, 0, end - arguments)
ctypes.memmove(arguments, sys.argv[1].encode(), min(len(sys.argv[1]), end - arguments - 1))
print("ready", flush=True)
sys.stdin.read()
