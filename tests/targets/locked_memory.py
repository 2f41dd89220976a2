# SPDX-License-Identifier: Apache-2.0
"""A program that holds its mmap_lock for as long as a file system does not answer: `locked_memory.py FILE`.

FILE is one of integration/dead_files.py. Whoever reads this process's command line, environment or
maps waits for that lock. Prints its pid first. It may be any program: that it is a Python does not matter.

Source: fs/fuse/file.c of the kernel: fuse_file_mmap of a file without a page cache waits for the pages that others read.
"""

import json
import mmap
import os
import sys
import threading
import time

reading = os.open(sys.argv[1], os.O_RDONLY)  # with a page cache
mapped = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)  # without one
threading.Thread(target=os.pread, args=(reading, 16, 0), daemon=True).start()
time.sleep(0.5)
os.write(1, (json.dumps({"pid": os.getpid()}) + "\n").encode())
mmap.mmap(mapped, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
