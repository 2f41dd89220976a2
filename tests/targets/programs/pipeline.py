# SPDX-License-Identifier: Apache-2.0
"""Tasks of Luigi."""

import time

import luigi


class Part(luigi.Task):
    number = luigi.IntParameter()

    def run(self):
        import side_work  # noqa: F401

        time.sleep(120)


class Nightly(luigi.WrapperTask):
    def requires(self):
        return [Part(number=number) for number in range(2)]
