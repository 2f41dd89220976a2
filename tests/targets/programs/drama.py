# SPDX-License-Identifier: Apache-2.0
"""Actors of Dramatiq, with a broker in memory."""

import dramatiq
from dramatiq.brokers.stub import StubBroker

import side_work  # noqa: F401

dramatiq.set_broker(StubBroker())


@dramatiq.actor
def order():
    return 1
