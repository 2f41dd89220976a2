# SPDX-License-Identifier: Apache-2.0
"""What uwsgi loads as a file: the application is called `application`."""

from shopweb import app as application  # noqa: F401
