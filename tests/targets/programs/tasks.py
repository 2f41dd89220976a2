# SPDX-License-Identifier: Apache-2.0
"""Tasks of Celery, with a broker in memory."""

import celery

import side_work  # noqa: F401

app = celery.Celery("tasks", broker="memory://")


@app.task
def order():
    return 1
