# SPDX-License-Identifier: Apache-2.0
"""What `django-admin startproject mysite` writes."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
    execute_from_command_line(sys.argv)
