# SPDX-License-Identifier: Apache-2.0
"""A scheduler of APScheduler."""

from apscheduler.schedulers.blocking import BlockingScheduler

import side_work

scheduler = BlockingScheduler()
scheduler.add_job(side_work.burn, "interval", seconds=1)
scheduler.start()
