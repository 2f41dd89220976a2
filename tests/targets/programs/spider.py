# SPDX-License-Identifier: Apache-2.0
"""A spider of Scrapy that asks no server."""

import scrapy

import side_work  # noqa: F401


class Prices(scrapy.Spider):
    name = "prices"
    start_urls = ["data:text/plain,price"]
    custom_settings = {"DOWNLOAD_DELAY": 0.2, "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "ERROR"}

    def parse(self, response):
        yield scrapy.Request("data:text/plain,price", dont_filter=True)
