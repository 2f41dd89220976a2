# SPDX-License-Identifier: Apache-2.0
"""The least settings that a server starts with."""

import side_work  # noqa: F401

ALLOWED_HOSTS = ["*"]
DEBUG = True
ROOT_URLCONF = "mysite.urls"
SECRET_KEY = "none"
