# SPDX-License-Identifier: Apache-2.0
"""Holds its own mmap_lock for ever: locks.py FILE [MARK].

FILE is on a file system that does not answer. Its first page is asked for, and then it is mapped as a file without
page cache (O_DIRECT, see dead_files.py), for which the kernel waits for that page. Whoever reads this process's
memory, command line or environment waits, too.
"""

import ctypes
import os
import sys
import threading
import time

PROT_READ, MAP_PRIVATE, PAGE = 1, 2, 4096

cached = os.open(sys.argv[1], os.O_RDONLY)
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
threading.Thread(target=os.pread, args=(cached, 16, 0), daemon=True).start()
print("{}", flush=True)
time.sleep(1)
ctypes.CDLL(None).mmap(None, ctypes.c_size_t(PAGE), PROT_READ, MAP_PRIVATE, direct, ctypes.c_long(0))
sys.exit("the file system has answered")
