# SPDX-License-Identifier: Apache-2.0
"""Two tasks of Ray."""

import time

import ray

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)


@ray.remote
def price():
    import side_work  # noqa: F401

    time.sleep(120)


ray.get([price.remote() for _ in range(2)])
