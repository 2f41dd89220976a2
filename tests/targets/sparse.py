# SPDX-License-Identifier: Apache-2.0
"""Is expensive to open: sparse.py FILE.

Makes FILE, an ELF file of 4 million symbols that takes no disk, and maps it 2,000 times. A new process does that
every other second, and ends after ten.
"""

import mmap
import os
import struct
import sys
import time

SYMBOLS, STRINGS = 4 << 20, 64 << 20
MAPPINGS, PERIOD_S, LIFE_S = 2000, 2, 10
SHT_STRTAB, SHT_DYNSYM, SHT_SYMTAB = 3, 11, 2
MACHINES = {"x86_64": 62, "aarch64": 183}


def section(kind, offset, size, link, entry):
    return struct.pack("<2I4Q2I2Q", 0, kind, 0, 0, offset, size, link, 1, 8, entry)


def write_file(path):
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, MACHINES[os.uname().machine], 1, 0, 0, 64, 0, 64, 56, 0, 64, 4, 0)
    symbols, strings = 4096, 4096 + SYMBOLS * 24
    table = bytes(64) + section(SHT_DYNSYM, symbols, SYMBOLS * 24, 2, 24) + section(SHT_STRTAB, strings, STRINGS, 0, 0) + \
        section(SHT_SYMTAB, symbols, SYMBOLS * 24, 2, 24)
    with open(path, "wb") as file:
        file.write(head + table)
        file.truncate(strings + STRINGS)


def live_on(path):
    with open(path, "rb") as file:
        # Neighbours of one file at offsets that follow each other would be one mapping.
        kept = [mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC) for _ in range(MAPPINGS)]
        time.sleep(LIFE_S)
        kept.clear()
    os._exit(0)


write_file(sys.argv[1])
print("{}", flush=True)
while True:
    if os.fork() == 0:
        live_on(sys.argv[1])
    time.sleep(PERIOD_S)
    while os.waitpid(-1, os.WNOHANG)[0]:
        pass
