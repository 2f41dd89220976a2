# SPDX-License-Identifier: Apache-2.0
"""What the servers of the tests have in common that answer each request alike."""

import socket
import threading
from http.server import ThreadingHTTPServer


class Loopback:
    """An HTTP server on the loopback while a with block runs, with TLS if there is a context for it."""

    def __init__(self, handler, context=None, host="127.0.0.1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        kind = type("Server", (ThreadingHTTPServer,), {"address_family": family})
        self._server = kind((host, 0), handler)
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = "%s://%s:%d" % ("https" if context else "http", "[%s]" % host if ":" in host else host,
                                   self._server.server_address[1])

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
