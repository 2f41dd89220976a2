#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that does everything wrong. What it does with a request is the first part of its path:

    url = http://127.0.0.1:PORT/status/503    answers each request with 503
    url = http://127.0.0.1:PORT/statuses/100  the first with 100, the next with 101, and so on
    url = http://127.0.0.1:PORT/NAME          does what is in FAULTS under that name

By hand: python3 faults.py --port 4040
"""

import argparse
import contextlib
import gzip
import socket
import struct
import threading
import time

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HEADERS_MAX = 1 << 16
BOMB = gzip.compress(bytes(1 << 20)) * 512  # half a GiB of nothing
NO_BODY = (204, 304)


class Peer:
    """One connection."""

    def __init__(self, sock, faults):
        self.sock, self.faults, self.pending = sock, faults, b""
        self.served = False  # a request before this one
        self.type = ""  # of the request

    def read_headers(self):
        """(path, length of the body), or None at the end of the connection."""
        while b"\r\n\r\n" not in self.pending:
            data = self.sock.recv(1 << 16)
            if not data or len(self.pending) > HEADERS_MAX:
                return None
            self.pending += data
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        return lines[0].split(" ")[1], int(fields.get("content-length", "0")), fields

    def read_body(self, size):
        """Reads it and throws it away; False if the connection ended before."""
        size -= len(self.pending)
        self.pending = b""
        while size > 0:
            data = self.sock.recv(min(size, 1 << 16))
            if not data:
                return False
            size -= len(data)
        return True

    def send(self, data):
        self.sock.sendall(data)

    def typed(self):
        """The header line of the type that a good server answers with: the request's."""
        return b"Content-Type: %s\r\n" % self.type.encode()

    def reset(self):
        """Ends the connection with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait(self):
        """Keeps the connection, until the server ends."""
        self.faults.ended.wait()

    def repeat(self, data, pause_s=0.0):
        """Sends that again and again, until the other side has had enough."""
        while not self.faults.ended.wait(pause_s):
            self.send(data)


def answer(status, body=b"no", fields=b""):
    if status in NO_BODY or status < 200:
        body = b""
    length = b"" if status in NO_BODY or status < 200 else b"Content-Length: %d\r\n" % len(body)
    return b"HTTP/1.1 %d Said So\r\n%s%s\r\n%s" % (status, length, fields, body)


def trickle(peer):
    for i in range(len(OK)):
        peer.send(OK[i:i + 1])
        time.sleep(0.01)


def drop_first(peer):
    """The first request of all sees a reset, later ones are answered."""
    if peer.faults.count == 1:
        peer.reset()
    else:
        peer.send(OK)


def answer_and_close(peer):
    """As a server does whose keep-alive ends just when the next request comes."""
    peer.send(OK)
    peer.sock.close()


def fall_silent(peer):
    """Answers one request of each connection, and to the next on it never says a word again."""
    if peer.served:
        peer.wait()
    peer.served = True
    peer.send(OK)


def compressed(status):
    def fault(peer):
        peer.send(answer(status, BOMB, b"Content-Encoding: gzip\r\n" + peer.typed()))
    return fault


def success(data, then=None):
    def fault(peer):
        peer.send(b"HTTP/1.1 200 OK\r\n" + peer.typed() + data)
        if then:
            then(peer)
    return fault


def sender(data, then=None):
    def fault(peer):
        peer.send(data)
        if then:
            then(peer)
    return fault


def close(peer):
    peer.sock.close()


def repeater(first, again, pause_s=0.0):
    def fault(peer):
        peer.send(first)
        peer.repeat(again, pause_s)
    return fault


# What is done once a request has been read.
FAULTS = {
    "good": sender(OK),
    "slow": trickle,
    "silent": Peer.wait,
    "half_status": sender(b"HTTP/1.1 20", Peer.wait),
    "half_headers": sender(b"HTTP/1.1 200 OK\r\nContent-Le", Peer.wait),
    "closing": close,
    "resetting": Peer.reset,
    "resetting_in_headers": sender(b"HTTP/1.1 200 OK\r\nContent-Le", Peer.reset),
    "resetting_in_refusal": sender(b"HTTP/1.1 400 No\r\nContent-Length: 100\r\n\r\nbec", Peer.reset),
    "resetting_once": drop_first,
    "closing_after_answer": answer_and_close,
    "half_open": fall_silent,
    "page": sender(answer(200, b"<html>Log in</html>", b"Content-Type: text/html\r\n")),
    "page_of_no_type": sender(answer(200, b"<html>Log in</html>")),
    "endless_body": success(b"\r\n", lambda peer: peer.repeat(b"x" * 65536)),
    "endless_chunks": success(b"Transfer-Encoding: chunked\r\n\r\n",
                              lambda peer: peer.repeat(b"1000\r\n" + b"x" * 4096 + b"\r\n")),
    "endless_refusal": repeater(b"HTTP/1.1 400 No\r\n\r\n", b"x" * 65536),
    "endless_headers": repeater(b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"x" * 1000 + b"\r\n"),
    "endless_header": repeater(b"HTTP/1.1 200 OK\r\nX-Header: ", b"x" * 65536),
    "endless_continue": repeater(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
    "gzip_bomb": compressed(200),
    "gzip_bomb_refusal": compressed(400),
    "longer_than_sent": success(b"Content-Length: 10\r\n\r\nabc", close),
    "longer_than_sent_open": success(b"Content-Length: 10\r\n\r\nabc", Peer.wait),
    "shorter_than_sent": success(b"Content-Length: 2\r\n\r\n" + b"x" * 5000),
    "negative_length": success(b"Content-Length: -1\r\n\r\n", close),
    "huge_length": success(b"Content-Length: 99999999999999999999999\r\n\r\n", close),
    "bad_chunk": success(b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", close),
    "no_http": sender(b"SSH-2.0-OpenSSH_9.2\r\n", close),
    "http_0_9": sender(b"<html>fine</html>", close),
    "zeros": sender(bytes(4096), close),
    "redirect_307": lambda peer: peer.send(answer(307, b"", peer.faults.elsewhere())),
    "redirect_308": lambda peer: peer.send(answer(308, b"", peer.faults.elsewhere())),
    "redirect_301": lambda peer: peer.send(answer(301, b"", peer.faults.elsewhere())),
    "redirect_302": lambda peer: peer.send(answer(302, b"", peer.faults.elsewhere())),
    "redirect_303": lambda peer: peer.send(answer(303, b"", peer.faults.elsewhere())),
    "redirect_to_a_file": lambda peer: peer.send(answer(307, b"", b"Location: file:///etc/passwd\r\n")),
    "redirect_loop": lambda peer: peer.send(answer(302, b"", b"Location: /redirect_loop\r\n")),
    "wait_2s": sender(answer(503, b"soon", b"Retry-After: 2\r\n")),
    "wait_for_ever": sender(answer(503, b"later", b"Retry-After: 99999999999999999999\r\n")),
}
# What is done before a body is read.
UNREAD = {
    "never_reading": Peer.wait,
    "refusing_unread": sender(answer(413), Peer.wait),
    "resetting_unread": Peer.reset,
}


class Faults:
    """The server. Counts whole requests and connections; safe for any thread."""

    def __init__(self, port=0):
        self.ended = threading.Event()
        self.count = 0  # requests that came whole
        self.connections = 0
        self.visits = []  # of where a redirect leads: what was sent to it
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self._open = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def url(self, fault):
        return "http://127.0.0.1:%d/%s" % (self.port, fault)

    def elsewhere(self):
        """The same server under another name, which is another host to a client."""
        return b"Location: http://localhost:%d/elsewhere\r\n" % self.port

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while not self.ended.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with contextlib.suppress(OSError):
            peer = Peer(sock, self)
            while sock.fileno() >= 0 and self._one(peer):
                pass
        with self._lock:
            self._open.discard(sock)
        sock.close()

    def _one(self, peer):
        """Serves a request; False at the end."""
        request = peer.read_headers()
        if request is None:
            return False
        path, size, fields = request
        peer.type = fields.get("content-type", "")
        name, _, rest = path.lstrip("/").partition("/")
        if name in UNREAD:
            UNREAD[name](peer)
            return True
        if fields.get("expect") == "100-continue":
            peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not peer.read_body(size):
            return False
        with self._lock:
            self.count += 1
            number = self.count
        if name == "elsewhere":
            self.visits.append(fields)
        if name in ("status", "statuses"):
            self._give_status(peer, int(rest.split("/")[0]) + (number - 1 if name == "statuses" else 0))
        else:
            FAULTS.get(name, FAULTS["good"])(peer)
        return True

    @staticmethod
    def _give_status(peer, status):
        peer.send(answer(status, b"no", peer.typed()))
        if status < 200:
            peer.sock.close()  # nothing follows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=4040)
    args = parser.parse_args()
    with Faults(args.port) as server:
        print("paths: /status/N /statuses/N /%s" % " /".join(sorted(set(FAULTS) | set(UNREAD))), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.ended.wait()


if __name__ == "__main__":
    main()
