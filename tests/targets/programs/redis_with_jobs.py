# SPDX-License-Identifier: Apache-2.0
"""A server that speaks as Redis does, and puts a job into RQ's queue `default` whenever that is empty: PORT."""

import sys
import threading
import time

import fakeredis
import redis
import rq
from fakeredis.model import ClientInfo

PORT = int(sys.argv[1])

# Values without blanks: what asks for CLIENT INFO splits the answer at blanks.
ClientInfo.as_bytes = lambda self: " ".join("%s=%s" % (name, str(value).replace(" ", "")) for name, value in self.items()).encode()

server = fakeredis.TcpFakeServer(("127.0.0.1", PORT), server_type="redis")
threading.Thread(target=server.serve_forever, daemon=True).start()
queue = rq.Queue("default", connection=redis.Redis(port=PORT))
while True:
    if queue.is_empty():
        queue.enqueue("rqjobs.order")
    time.sleep(0.5)
