# SPDX-License-Identifier: Apache-2.0
"""A configuration of gunicorn that says which application it serves."""

import os

bind = "127.0.0.1:" + os.environ["PORT"]
workers = 2
wsgi_app = "shopweb:app"
