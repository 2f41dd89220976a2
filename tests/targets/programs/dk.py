# SPDX-License-Identifier: Apache-2.0
"""A cluster of Dask on this machine."""

import importlib
import time

from distributed import Client, LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, scheduler_port=0)
    client = Client(cluster)
    client.run(importlib.import_module, "side_work")
    time.sleep(120)
