# SPDX-License-Identifier: Apache-2.0
"""An application of Flask."""

import flask

import side_work  # noqa: F401

app = flask.Flask("flaskapp")


@app.route("/")
def shop():
    return "shop\n"
