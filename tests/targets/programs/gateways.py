# SPDX-License-Identifier: Apache-2.0
"""Two gateways of execnet."""

import execnet

SOURCE = "import side_work, time; time.sleep(120)"

channels = [execnet.makegateway("popen").remote_exec(SOURCE) for _ in range(2)]
for channel in channels:
    channel.waitclose()
