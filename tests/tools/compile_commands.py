#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a compilation database of the C files that the standard input names: compile_commands.py CC FLAG..."""

import json
import os
import sys

print(json.dumps([{"directory": os.getcwd(), "file": name, "arguments": sys.argv[1:] + ["-c", name]}
                  for name in sys.stdin.read().split()], indent=1))
