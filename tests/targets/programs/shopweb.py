# SPDX-License-Identifier: Apache-2.0
"""A web application for WSGI and ASGI servers."""

import side_work  # noqa: F401


def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"shop\n"]


async def lifespan(receive, send):
    while True:
        kind = (await receive())["type"]
        await send({"type": kind + ".complete"})
        if kind == "lifespan.shutdown":
            return


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"shop\n"})
