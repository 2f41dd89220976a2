/* SPDX-License-Identifier: Apache-2.0 */
/* command_table.c - see command_table.h. */
#include "agent/proc/command_table.h"

/* clang-format off */
const struct command commands[] = {
    /* Servers of WSGI and ASGI. */
    {.names = "gunicorn gunicorn.app.wsgiapp", .kind = CMDLINE_TOOL,
     .options = {{"-n", CMDLINE_WORD}, {"--name", CMDLINE_WORD}, {"-c", CMDLINE_FOLDER}, {"--config", CMDLINE_FOLDER}},
     .flags = "--check-config --print-config --preload --reload --spew -D --daemon -R --enable-stdio-inheritance "
              "--capture-output --initgroups --log-syslog --do-handshake-on-connect --suppress-ragged-eofs --reuse-port "
              "--proxy-protocol --strip-header-spaces --disable-redirect-access-to-syslog --permit-obsolete-folding "
              "--permit-unconventional-http-method --permit-unconventional-http-version --casefold-http-method "
              "--help --version -h -v",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "uvicorn", .kind = CMDLINE_TOOL,
     .flags = "--reload --use-colors --access-log --proxy-headers --server-header --date-header --factory "
              "--reset-contextvars --version --help",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "hypercorn", .kind = CMDLINE_TOOL,
     .options = {{"-c", CMDLINE_FOLDER}, {"--config", CMDLINE_FOLDER}},
     .flags = "--debug --reload -h --help --version",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "daphne", .kind = CMDLINE_TOOL,
     .flags = "--proxy-headers -h --help --version",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "granian", .kind = CMDLINE_TOOL,
     .flags = "--reload --access-log --log --ws --factory --respawn-failed-workers --http2-adaptive-window "
              "--http2-enable-connect-protocol --http1-keep-alive --http1-pipeline-flush --http1-half-close "
              "--metrics --help --version",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "waitress-serve waitress", .kind = CMDLINE_TOOL,
     .options = {{"--app", CMDLINE_MODULE}},
     .flags = "--call --help --expose-tracebacks --log-untrusted-proxy-headers --clear-untrusted-proxy-headers "
              "--asyncore-use-poll --ipv4 --ipv6",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "uwsgi pyuwsgi uwsgi-core uwsgi_python3", .kind = CMDLINE_TOOL,
     .options = {{"--module", CMDLINE_MODULE}, {"--wsgi", CMDLINE_MODULE}, {"-w", CMDLINE_MODULE}, {"--wsgi-file", CMDLINE_FILE},
                 {"--file", CMDLINE_FILE}, {"--ini", CMDLINE_FILE}, {"--yaml", CMDLINE_FILE}, {"--json", CMDLINE_FILE}},
     .flags = "--master -M --enable-threads -T --need-app --http-keepalive --lazy-apps --lazy --vacuum --die-on-term "
              "--single-interpreter -i --strict --auto-procname --disable-logging -L --memory-report -m --thunder-lock --no-orphans",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "flask", .kind = CMDLINE_TOOL,
     .options = {{"--app", CMDLINE_MODULE}, {"-A", CMDLINE_MODULE}},
     .options_first = true, .variable = "FLASK_APP", .variable_form = CMDLINE_MODULE, .folder = true},
    {.names = "fastapi", .word = "run", .kind = CMDLINE_TOOL,
     .options = {{"-e", CMDLINE_MODULE}, {"--entrypoint", CMDLINE_MODULE}}, .flags = "--reload --proxy-headers --help",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "fastapi", .word = "dev", .kind = CMDLINE_TOOL,
     .options = {{"-e", CMDLINE_MODULE}, {"--entrypoint", CMDLINE_MODULE}}, .flags = "--reload --proxy-headers --help",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "manage", .kind = CMDLINE_TOOL,
     .options = {{"--settings", CMDLINE_PACKAGE}},
     .variable = "DJANGO_SETTINGS_MODULE", .variable_form = CMDLINE_PACKAGE, .script_folder = true},
    {.names = "django-admin django", .kind = CMDLINE_TOOL,
     .options = {{"--settings", CMDLINE_PACKAGE}},
     .variable = "DJANGO_SETTINGS_MODULE", .variable_form = CMDLINE_PACKAGE, .folder = true},

    /* Queues of tasks. */
    {.names = "celery", .kind = CMDLINE_TOOL,
     .options = {{"-A", CMDLINE_MODULE}, {"--app", CMDLINE_MODULE}},
     .variable = "CELERY_APP", .variable_form = CMDLINE_MODULE, .folder = true},
    {.names = "dramatiq dramatiq-gevent", .kind = CMDLINE_TOOL,
     .flags = "--watch-use-polling --use-spawn --skip-logging -v --verbose --version -h --help",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},
    {.names = "huey_consumer huey.bin.huey_consumer", .kind = CMDLINE_TOOL,
     .flags = "-n --no-periodic -q --quiet -v --verbose -s --simple -h --help -f --flush-locks",
     .operand = true, .operand_form = CMDLINE_PARENT, .folder = true},
    {.names = "rqworker", .kind = CMDLINE_TOOL, .flags = "-b --burst -v --verbose -q --quiet",
     .operand = true, .operand_form = CMDLINE_WORD, .folder = true},
    {.names = "rq rq.cli", .word = "worker", .kind = CMDLINE_TOOL,
     .flags = "-b --burst -v --verbose -q --quiet --with-scheduler -s -d --disable-job-desc-logging",
     .operand = true, .operand_form = CMDLINE_WORD, .folder = true},
    {.names = "rq rq.cli", .word = "worker-pool", .kind = CMDLINE_TOOL,
     .flags = "-b --burst -v --verbose -q --quiet", .operand = true, .operand_form = CMDLINE_WORD, .folder = true},
    {.names = "arq", .kind = CMDLINE_TOOL, .flags = "--burst --check --version --help -v --verbose",
     .operand = true, .operand_form = CMDLINE_PARENT, .folder = true},
    {.names = "taskiq", .word = "worker", .kind = CMDLINE_TOOL, .flags = "--reload -r --fs-discover -fsd",
     .operand = true, .operand_form = CMDLINE_MODULE, .folder = true},

    /* Data, notebooks, workflows. */
    {.names = "scrapy scrapy.cmdline", .word = "runspider", .kind = CMDLINE_TOOL, .flags = "--nolog --pdb",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "scrapy scrapy.cmdline", .word = "crawl", .kind = CMDLINE_TOOL, .flags = "--nolog --pdb",
     .operand = true, .operand_form = CMDLINE_WORD, .folder = true},
    {.names = "streamlit streamlit.web.cli", .word = "run", .kind = CMDLINE_TOOL,
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "papermill", .kind = CMDLINE_TOOL,
     .pairs = "-p --parameters -r --parameters_raw",
     .flags = "--prepare-only --log-output --progress-bar --request-save-on-cell-execute --report-mode --version",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "ipykernel_launcher ipykernel", .kind = CMDLINE_PART, .role = CMDLINE_WORKER,
     .variable = "JPY_SESSION_NAME", .variable_form = CMDLINE_FILE, .folder = true},
    {.names = "ansible-playbook", .kind = CMDLINE_TOOL,
     .flags = "-b --become -C --check -D --diff -K --ask-become-pass -k --ask-pass -v -vv -vvv -vvvv --verbose --syntax-check "
              "--list-hosts --list-tasks --list-tags --step --force-handlers --flush-cache -J --ask-vault-pass --ask-vault-password",
     .operand = true, .operand_form = CMDLINE_FILE, .folder = true},
    {.names = "luigi", .kind = CMDLINE_TOOL,
     .options = {{"--module", CMDLINE_MODULE}}, .folder = true},
    {.names = "dask-worker dask-scheduler distributed.cli.dask_worker distributed.cli.dask_scheduler", .kind = CMDLINE_TOOL},
    {.names = "pyspark.daemon pyspark.worker", .kind = CMDLINE_PART, .role = CMDLINE_WORKER},
    {.names = "default_worker", .path = "/ray/", .kind = CMDLINE_PART, .role = CMDLINE_WORKER},
    {.path = "/ray/dashboard/", .kind = CMDLINE_PART, .role = CMDLINE_HELPER},
    {.path = "/ray/_private/", .kind = CMDLINE_PART, .role = CMDLINE_HELPER},
    {.path = "/ray/autoscaler/", .kind = CMDLINE_PART, .role = CMDLINE_HELPER},
    {.names = "prefect.engine prefect.flow_engine", .kind = CMDLINE_PART, .role = CMDLINE_WORKER},
    {.names = "joblib.externals.loky.backend.popen_loky_posix loky.backend.popen_loky_posix", .kind = CMDLINE_PART,
     .role = CMDLINE_WORKER},

    /* Programs that run another in their place: what follows an option that is not listed is not known. */
    {.names = "poetry pipenv pdm hatch", .word = "run", .kind = CMDLINE_TOOL,
     .flags = "-q --quiet -v -vv -vvv --verbose -n --no-interaction --ansi --no-ansi --no-plugins --no-cache",
     .values = "-C --directory -P --project -e --env", .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "uv", .word = "run", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}, {"--module", CMDLINE_RUN}},
     .flags = "-q --quiet -v --verbose --locked --frozen --isolated --offline --no-sync --no-dev --all-extras --refresh --active",
     .values = "--with --with-requirements -p --python --extra --group --project --directory --env-file --package",
     .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "pipx", .word = "run", .kind = CMDLINE_TOOL, .flags = "--pypackages --quiet --verbose --no-cache",
     .values = "--spec --python --pip-args --index-url", .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "ddtrace-run ddtrace.commands.ddtrace_run", .kind = CMDLINE_TOOL, .flags = "-d --debug -i --info -p --profiling -v --version",
     .values = "", .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "opentelemetry-instrument", .kind = CMDLINE_TOOL, .flags = "--version --help", /* one for each variable of an SDK */
     .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "newrelic-admin", .word = "run-program", .kind = CMDLINE_TOOL, .values = "",
     .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = "newrelic-admin", .word = "run-python", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}},
     .values = "", .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "coverage coverage3", .word = "run", .kind = CMDLINE_TOOL,
     .options = {{"-m", CMDLINE_RUN}, {"--module", CMDLINE_RUN}},
     .flags = "-a --append --branch -L --pylib -p --parallel-mode --timid",
     .values = "--concurrency --context --data-file --include --omit --rcfile --source --save-signal",
     .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "debugpy", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}},
     .flags = "--wait-for-client --log-to-stderr", .values = "--listen --connect --log-to --adapter-access-token --parent-session-pid",
     .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "cProfile profile", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}},
     .values = "-o --outfile -s --sort", .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "pdb", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}}, .values = "-c --command",
     .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "trace", .kind = CMDLINE_TOOL, .options = {{"--module", CMDLINE_RUN}},
     .flags = "-c --count -t --trace -r --report -T --trackcalls -l --listfuncs -m --missing -s --summary -g --timing -R --no-report",
     .values = "-f --file -C --coverdir --ignore-module --ignore-dir", .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "memray", .word = "run", .kind = CMDLINE_TOOL, .options = {{"-m", CMDLINE_RUN}},
     .flags = "--live --live-remote --native --follow-fork --trace-python-allocators -q --quiet -f --force --aggregate --compress-on-exit "
              "--no-compress",
     .values = "-o --output -p --live-port", .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "torchrun torch.distributed.run torch.distributed.launch", .kind = CMDLINE_TOOL,
     .options = {{"-m", CMDLINE_RUN}, {"--module", CMDLINE_RUN}},
     .flags = "--standalone --use-env --use_env --run-path --run_path --no-python --no_python",
     .values = "--nnodes --nproc-per-node --nproc_per_node --rdzv-backend --rdzv_backend --rdzv-endpoint --rdzv_endpoint --rdzv-id --rdzv_id "
               "--rdzv-conf --rdzv_conf --max-restarts --max_restarts --monitor-interval --monitor_interval --start-method --start_method "
               "--role --log-dir --log_dir --node-rank --node_rank --master-addr --master_addr --master-port --master_port -r --redirects -t --tee",
     .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "accelerate", .word = "launch", .kind = CMDLINE_TOOL,
     .flags = "--cpu --multi_gpu --multi-gpu --tpu --quiet -q --use_deepspeed --use-deepspeed --use_fsdp --use-fsdp --debug --same_network "
              "--same-network --use_megatron_lm --use-megatron-lm -m --module",
     .values = "--config_file --config-file --num_processes --num-processes --num_machines --num-machines --machine_rank --machine-rank "
               "--main_process_ip --main-process-ip --main_process_port --main-process-port --mixed_precision --mixed-precision "
               "--gpu_ids --gpu-ids --deepspeed_config_file --dynamo_backend --num_cpu_threads_per_process",
     .operand = true, .operand_form = CMDLINE_SCRIPT},
    {.names = "watchmedo", .word = "auto-restart", .kind = CMDLINE_TOOL, .flags = "-R --recursive -q --quiet -v --verbose",
     .values = "-d --directory -p --pattern --patterns -i --ignore-patterns --signal --kill-after --debounce-interval",
     .operand = true, .operand_form = CMDLINE_PROGRAM},
    {.names = NULL},
};

const struct command_text command_titles[] = {
    {.start = "gunicorn: ", .kind = CMDLINE_TOOL, .name = "gunicorn", .before = "[", .after = "]", .form = CMDLINE_MODULE},
    {.start = "[gunicorn", .kind = CMDLINE_TOOL, .name = "gunicorn"},
    {.start = "[celeryd: ", .kind = CMDLINE_PART, .name = "celery", .before = "(-A ", .after = " )", .form = CMDLINE_MODULE},
    {.start = "[celeryd: ", .kind = CMDLINE_PART, .name = "celery", .before = " -A ", .after = " )", .form = CMDLINE_MODULE},
    {.start = "[celeryd: ", .kind = CMDLINE_PART, .name = "celery", .before = "--app=", .after = " )", .form = CMDLINE_MODULE},
    {.start = "[celery ", .kind = CMDLINE_PART, .name = "celery", .before = " -A ", .after = " )", .form = CMDLINE_MODULE},
    {.start = "(wsgi:", .kind = CMDLINE_TOOL, .name = "mod_wsgi", .before = "(wsgi:", .after = ")", .form = CMDLINE_WORD},
    {.start = "granian asgi ", .kind = CMDLINE_TOOL, .name = "granian", .before = " ", .after = " ", .form = CMDLINE_MODULE},
    {.start = "granian rsgi ", .kind = CMDLINE_TOOL, .name = "granian", .before = " ", .after = " ", .form = CMDLINE_MODULE},
    {.start = "granian wsgi ", .kind = CMDLINE_TOOL, .name = "granian", .before = " ", .after = " ", .form = CMDLINE_MODULE},
    {.start = "ray::", .kind = CMDLINE_PART, .role = CMDLINE_WORKER, .name = "ray"},
    {.start = "[pytest-xdist", .kind = CMDLINE_PART, .role = CMDLINE_WORKER, .name = "pytest"},
    {.start = "dask ", .kind = CMDLINE_PART, .role = CMDLINE_WORKER, .name = "dask"},
    {.start = "uWSGI", .kind = CMDLINE_TOOL, .name = "uwsgi"},
    {.start = NULL},
};

const struct command_text command_codes[] = {
    {.start = "from multiprocessing.spawn import", .kind = CMDLINE_PART, .role = CMDLINE_WORKER, .name = ""},
    {.start = "from multiprocessing.resource_tracker import", .kind = CMDLINE_PART, .role = CMDLINE_HELPER, .name = ""},
    {.start = "from multiprocessing.semaphore_tracker import", .kind = CMDLINE_PART, .role = CMDLINE_HELPER, .name = ""},
    {.start = "from joblib.externals.loky.backend.resource_tracker", .kind = CMDLINE_PART, .role = CMDLINE_HELPER, .name = ""},
    {.start = "import sys;exec(eval(sys.stdin.readline()))", .kind = CMDLINE_PART, .role = CMDLINE_WORKER, .name = ""},
    {.start = NULL},
};
/* clang-format on */
