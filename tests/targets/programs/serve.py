# SPDX-License-Identifier: Apache-2.0
"""Starts uvicorn by itself."""

import os

import uvicorn

if __name__ == "__main__":
    uvicorn.run("shopweb:asgi", port=int(os.environ["PORT"]), workers=2, log_level="error")
