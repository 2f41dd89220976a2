# SPDX-License-Identifier: Apache-2.0
"""One small shop as a Flask, a Django and an ASGI application, and as tasks of Celery.

Whichever serves a request, the work is done by `price`, called by `answer`.
"""

import os


def price(items):
    """What a request takes its time for."""
    total = 0
    for item in range(items):
        total += item * item % 7
    return total


def answer():
    return "%d\n" % price(60000)


def flask_app(environ, start_response):
    from flask import Flask

    app = Flask("shop")
    app.route("/")(answer)
    globals()["flask_app"] = app
    return app(environ, start_response)


def django_app(environ, start_response):
    import django
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIHandler
    from django.http import HttpResponse
    from django.urls import path

    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF="shop_apps", SECRET_KEY="none", MIDDLEWARE=[])
        globals()["urlpatterns"] = [path("", lambda request: HttpResponse(answer()))]
        django.setup(set_prefix=False)
    app = globals()["django_app"] = WSGIHandler()
    return app(environ, start_response)


async def asgi_app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = answer().encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def make_celery():
    from celery import Celery

    folder = os.environ["SHOP_FOLDER"]
    transport = {"data_folder_in": folder, "data_folder_out": folder, "control_folder": folder + "/control"}
    app = Celery("shop_apps", broker="filesystem://")
    app.conf.update(broker_transport_options=transport, task_ignore_result=True, worker_prefetch_multiplier=1,
                    broker_connection_retry_on_startup=True)
    return app


if "SHOP_FOLDER" in os.environ:
    celery = make_celery()

    @celery.task(name="shop_apps.order")
    def order():
        answer()
