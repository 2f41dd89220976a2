# SPDX-License-Identifier: Apache-2.0
"""The programs of `make programs`: how each is started, and the name that a person would give it.

Each runs in a copy of tests/targets/programs, with the packages of tests/setup/programs.txt.
"""

import dataclasses

SECRET = "s3cr3t-value"  # is in options and variables of programs, and must be in no name


@dataclasses.dataclass(frozen=True)
class Program:
    """In `command`, `env` and `support` stand {bin} for the folder of the packages' programs, {dir} for the folder that it
    runs in, {port} and {port2} for ports that nobody has.
    """

    title: str
    command: str
    service: str  # the name of all its processes
    least: int = 1  # Python processes, at least
    also: tuple = ()  # names of other programs that it starts
    folder: str = "folder"  # the last part of {dir}
    env: dict = dataclasses.field(default_factory=dict)
    hides: str = ""  # a module that cannot be imported
    support: str = ""  # the command of a server that it needs, which is not watched


GUNICORN = "{bin}/gunicorn -w 2 -b 127.0.0.1:{port} "
UVICORN = "{bin}/uvicorn --port {port} --log-level error "
OTEL = "{bin}/opentelemetry-instrument --traces_exporter none --metrics_exporter none --logs_exporter none "
RQ = "{bin}/rq worker --url redis://:s3cr3t-value@127.0.0.1:{port} "
REDIS = "{bin}/python {dir}/redis_with_jobs.py {port}"
DATADOG = {"DD_API_KEY": SECRET, "DD_TRACE_AGENT_URL": "http://127.0.0.1:1", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
           "DD_REMOTE_CONFIGURATION_ENABLED": "false"}
FLASK = "{bin}/flask --app flaskapp run --port {port}"

PROGRAMS = [
    # Servers of WSGI.
    Program("gunicorn, Django", GUNICORN + "mysite.wsgi", "mysite", 3),
    Program("gunicorn, Django, no setproctitle", GUNICORN + "mysite.wsgi", "mysite", 3, hides="setproctitle"),
    Program("gunicorn -n", GUNICORN + "-n myshop shopweb:app", "myshop", 3),
    Program("gunicorn -c", "{bin}/gunicorn -c {dir}/conf.py", "storefront", 3, folder="storefront"),
    Program("gunicorn gthread, a variable with a secret",
            GUNICORN + "-k gthread --threads 4 --env DSN=postgres://u:s3cr3t-value@h/x shopweb:app", "shopweb", 3),
    Program("gunicorn gevent", GUNICORN + "-k gevent shopweb:app", "shopweb", 3),
    Program("gunicorn --preload", GUNICORN + "--preload shopweb:app", "shopweb", 3),
    Program("python -m gunicorn.app.wsgiapp", "{bin}/python -m gunicorn.app.wsgiapp -b 127.0.0.1:{port} shopweb:app", "shopweb", 2),
    Program("waitress-serve", "{bin}/waitress-serve --listen=127.0.0.1:{port} shopweb:app", "shopweb"),
    Program("uwsgi --wsgi-file", "{bin}/uwsgi --http-socket 127.0.0.1:{port} --wsgi-file {dir}/storefile.py --master --processes 2 "
            "--enable-threads --lazy-apps", "storefile", 2),
    Program("uwsgi --module", "{bin}/uwsgi --http-socket 127.0.0.1:{port} --module shopweb:app --enable-threads --auto-procname",
            "shopweb"),
    Program("uwsgi --ini", "{bin}/uwsgi --ini {dir}/uwsgi.ini", "kiosk", 2, folder="kiosk"),
    # Servers of ASGI.
    Program("uvicorn --header", UVICORN + "--header Server:hidden shopweb:asgi", "shopweb"),
    Program("uvicorn --workers", UVICORN + "--workers 2 shopweb:asgi", "shopweb", 3),
    Program("uvicorn --reload", UVICORN + "--reload shopweb:asgi", "shopweb", 2),
    Program("uvicorn.run()", "{bin}/python serve.py", "serve", 3),
    Program("gunicorn, uvicorn's worker", GUNICORN + "-k uvicorn_worker.UvicornWorker shopweb:asgi", "shopweb", 3),
    Program("hypercorn", "{bin}/hypercorn -w 2 -b 127.0.0.1:{port} shopweb:asgi", "shopweb", 3),
    Program("granian", "{bin}/granian --interface asgi --workers 2 --port {port} shopweb:asgi", "shopweb", 3),
    Program("daphne", "{bin}/daphne -e tcp:port={port}:interface=127.0.0.1 shopweb:asgi", "shopweb"),
    # Frameworks' own servers.
    Program("flask run", FLASK, "flaskapp"),
    Program("flask --debug run", FLASK + " --debug", "flaskapp", 2),
    Program("manage.py runserver --settings", "{bin}/python manage.py runserver {port} --settings=mysite.settings", "mysite", 2,
            folder="bookshop"),
    Program("manage.py runserver, settings in the environment", "{bin}/python manage.py runserver --noreload {port}", "mysite",
            folder="bookshop", env={"DJANGO_SETTINGS_MODULE": "mysite.settings"}),
    Program("manage.py runserver", "{bin}/python {dir}/manage.py runserver {port}", "bookshop", 2, folder="bookshop"),
    Program("python -m http.server", "{bin}/python -m http.server --bind 127.0.0.1 {port}", "http.server"),
    Program("streamlit run", "{bin}/streamlit run st.py --server.headless true --server.port {port} --server.address 127.0.0.1 "
            "--browser.gatherUsageStats false -- --token s3cr3t-value", "st"),
    # Queues.
    Program("celery prefork", "{bin}/celery -A tasks worker --pool prefork -c 2", "tasks", 3),
    Program("celery prefork, no setproctitle", "{bin}/celery -A tasks worker --pool prefork -c 2", "tasks", 3, hides="setproctitle"),
    Program("celery threads, a broker with a secret",
            "{bin}/celery -A tasks -b memory://user:s3cr3t-value@broker/ worker --pool threads -c 2", "tasks"),
    Program("celery beat", "{bin}/celery -A tasks beat -s {dir}/beat", "tasks"),
    Program("dramatiq", "{bin}/dramatiq drama --processes 2 --threads 1", "drama", 3),
    Program("huey_consumer", "{bin}/huey_consumer hueyapp.huey -k process -w 2", "hueyapp", 3),
    Program("rq worker QUEUE", RQ + "default", "default", 2, support=REDIS),
    Program("rq worker", RQ, "mailroom", 2, folder="mailroom", support=REDIS),
    Program("apscheduler", "{bin}/python nightly.py", "nightly"),
    Program("supervisord", "{bin}/supervisord -c {dir}/supervisord.conf", "billing", 3, also=("flaskapp", "supervisord"),
            env={"BIN": "{bin}"}),
    # Tools that run what the user wrote.
    Program("scrapy runspider", "{bin}/scrapy runspider {dir}/spider.py -a token=s3cr3t-value", "spider"),
    Program("papermill and its kernel", "{bin}/papermill nb.ipynb out.ipynb -p token s3cr3t-value --no-progress-bar", "nb", 2),
    Program("jupyter kernel", "{bin}/jupyter kernel", "jupyter-kernel", 2),
    Program("a kernel alone", "{bin}/python -m ipykernel_launcher -f {dir}/kernel.json", "analysis", folder="analysis"),
    Program("ansible-playbook", "{bin}/ansible-playbook -i localhost, site.yml -e db_password=s3cr3t-value", "site", 1),
    Program("luigi", "{bin}/luigi --module pipeline Nightly --local-scheduler --workers 2", "pipeline", 2),
    Program("pytest-xdist", "{bin}/pytest -n 2 -q -p no:cacheprovider -p no:ddtrace --rootdir {dir} {dir}/checks.py", "pytest", 3),
    Program("coverage run", "{bin}/coverage run --data-file={dir}/data billing.py --token s3cr3t-value", "billing"),
    Program("coverage run -m", "{bin}/coverage run --data-file={dir}/data -m jobs.mail", "jobs.mail"),
    Program("python -m debugpy", "{bin}/python -m debugpy --listen 127.0.0.1:{port} {dir}/invoice.py", "invoice"),
    Program("uv run", "{bin}/uv run --offline --no-project --python {bin}/python {dir}/onefile.py --token s3cr3t-value", "onefile"),
    # Tracers.
    Program("ddtrace-run, DD_SERVICE", "{bin}/ddtrace-run " + GUNICORN + "shopweb:app", "shop-dd", 3,
            env=dict(DATADOG, DD_SERVICE="shop-dd")),
    Program("ddtrace-run", "{bin}/ddtrace-run {bin}/python billing.py", "billing", env=DATADOG),
    Program("opentelemetry-instrument, OTEL_SERVICE_NAME", OTEL + FLASK, "shop-otel", env={"OTEL_SERVICE_NAME": "shop-otel"}),
    Program("opentelemetry-instrument --service_name", OTEL + "--service_name shop-option " + FLASK, "shop-option"),
    Program("opentelemetry-instrument", OTEL + FLASK, "flaskapp"),
    Program("newrelic-admin run-program", "{bin}/newrelic-admin run-program " + GUNICORN + "shopweb:app", "shopweb", 3,
            env={"NEW_RELIC_DEVELOPER_MODE": "true", "NEW_RELIC_LICENSE_KEY": SECRET}),
    Program("OTEL_RESOURCE_ATTRIBUTES", "{bin}/python billing.py", "shop-attribute",
            env={"OTEL_RESOURCE_ATTRIBUTES": "service.name=shop-attribute"}),
    # Children that only say -c.
    Program("multiprocessing spawn", "{bin}/python pool_of.py spawn --token s3cr3t-value", "pool_of", 4),
    Program("multiprocessing forkserver", "{bin}/python pool_of.py forkserver", "pool_of", 5),
    Program("concurrent.futures", "{bin}/python executor.py", "executor", 3),
    Program("joblib, loky", "{bin}/python jl.py", "jl", 4),
    Program("dask LocalCluster", "{bin}/python dk.py", "dk", 3),
    Program("execnet", "{bin}/python gateways.py", "gateways", 3),
    Program("python -c below a Python", "{bin}/python dispatch.py", "dispatch", 2),
    Program("ray", "{bin}/python rayapp.py", "rayapp", 4, env={"RAY_USAGE_STATS_ENABLED": "0"}),
    # Python itself.
    Program("python -c", "{bin}/python -c 'import side_work, time; time.sleep(120)' s3cr3t-value", "desk", folder="desk"),
    Program("python, standard input", "sh -c '{bin}/python - --token s3cr3t-value < billing.py'", "desk", folder="desk"),
    Program("python -m PACKAGE.MODULE", "{bin}/python -m jobs.mail --token s3cr3t-value", "jobs.mail"),
    Program("python FOLDER", "{bin}/python {dir}/warehouse", "warehouse"),
    Program("zipapp", "{bin}/python {dir}/tool.pyz --token s3cr3t-value", "tool"),
    Program("setproctitle, only asked", "{bin}/python untitled.py --token s3cr3t-value --mode fast", "untitled"),
    Program("setproctitle, a URL in an option", "{bin}/python untitled.py --db postgres://u:s3cr3t-value@h/x", "untitled"),
    Program("setproctitle, a secret in the title", "{bin}/python titled.py 0", "titled"),
    Program("setproctitle, a title after five seconds", "{bin}/python titled.py 5", "titled"),
]
