/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmdline.c - what a command line runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/proc/cmdline.h"
#include "agent/proc/command_table.h"
#include "tests/unit/unit_test.h"

/* Words with a blank between two, as a shell has them; rows that begin with "=" are one argument.
 */
struct row {
    const char *line;
    enum cmdline_kind kind;
    const char *name;
    const char *folder_of;
};

#define APPLICATION(line, name)               \
    {                                         \
        line, CMDLINE_APPLICATION, name, NULL \
    }
#define TOOL(line, name, of)         \
    {                                \
        line, CMDLINE_TOOL, name, of \
    }
#define PART(line, name)               \
    {                                  \
        line, CMDLINE_PART, name, NULL \
    }

static const struct row rows[] = {
    /* Python itself. */
    APPLICATION("python3 /srv/shop/worker.py --fast", "worker"),
    APPLICATION("/usr/bin/python3.11 worker.py", "worker"),
    APPLICATION("python3 -m shop.worker -v", "shop.worker"),
    APPLICATION("python3 -mshop.worker", "shop.worker"),
    APPLICATION("python3 -Im shop", "shop"),
    APPLICATION("python3 -X dev -W error -u run.py", "run"),
    APPLICATION("python3 -Xdev -Werror run.py", "run"),
    APPLICATION("python3 --check-hash-based-pycs always run.py", "run"),
    APPLICATION("python3 -- run.py", "run"),
    APPLICATION("python3 /srv/shop/__main__.py", "shop"),
    APPLICATION("python3 __main__.py", "__main__"),
    APPLICATION("python3 /usr/bin/ansible all", "ansible"),
    APPLICATION("python3 tool.pyz --to x", "tool"),
    APPLICATION("/opt/onefile.bin", "onefile"),
    APPLICATION("/opt/shop", "shop"),
    APPLICATION("python3 trace.py -m s3cr3t", "trace"),
    APPLICATION("python3 rq.py worker s3cr3t", "rq"),
    APPLICATION("python3 /srv/luigi.py --module s3cr3t", "luigi"),
    APPLICATION("python3 -m shop.__main__", "shop"),
    APPLICATION("python3 /v/bin/huey_consumer.py hueyapp.huey", "hueyapp"),
    PART("python3 .", ""),
    PART("python3 ..", ""),
    PART("python3 /dev/fd/63", ""),
    PART("python3 /dev/stdin s3cr3t", ""),
    PART("python3 -c import_os", ""),
    PART("python3 - run.py", ""),
    PART("python3", ""),
    PART("python3 -m", ""),

    /* Servers. */
    APPLICATION("python3 /usr/bin/gunicorn -w 4 --bind localhost:80 shop.wsgi:app", "shop"),
    APPLICATION("python3 -m gunicorn app:app", "app"),
    APPLICATION("python3 -m gunicorn.app.wsgiapp shopweb:app", "shopweb"),
    APPLICATION("gunicorn mysite.wsgi", "mysite"),
    APPLICATION("gunicorn --preload mysite.wsgi", "mysite"),
    APPLICATION("gunicorn -n myshop shopweb:app", "myshop"),
    APPLICATION("gunicorn --name=myshop shopweb:app", "myshop"),
    APPLICATION("gunicorn -nmyshop -w4 shopweb:app", "myshop"),
    TOOL("gunicorn -c /srv/shop/conf.py", "gunicorn", "/srv/shop/conf.py"),
    TOOL("python3 -m gunicorn", "gunicorn", "."),
    TOOL("gunicorn --new-option mysite.wsgi", "gunicorn", "."),
    APPLICATION("python3 /usr/bin/uvicorn api.asgi:create() --factory", "api"),
    APPLICATION("uvicorn --header Server:hidden shopweb:asgi", "shopweb"),
    APPLICATION("uvicorn --no-access-log --reload shopweb:asgi", "shopweb"),
    APPLICATION("daphne -e tcp:port=9105:interface=127.0.0.1 shopweb:asgi", "shopweb"),
    APPLICATION("granian --interface asgi --port 8025 shopweb:asgi", "shopweb"),
    APPLICATION("waitress-serve --listen=*:80 shopweb:app", "shopweb"),
    APPLICATION("hypercorn -w 2 shopweb:asgi", "shopweb"),
    APPLICATION("uwsgi --http :80 --wsgi-file /srv/X.py --master", "X"),
    APPLICATION("uwsgi --http :80 --module m:app -M", "m"),
    APPLICATION("/usr/sbin/uwsgi --ini /etc/uwsgi/shop.ini", "shop"),
    TOOL("uwsgi --ini /srv/shop/uwsgi.ini", "uwsgi", "/srv/shop/uwsgi.ini"),
    APPLICATION("uwsgi --ini /usr/share/uwsgi/default.ini --ini /etc/uwsgi/shop.ini -d x", "shop"),
    APPLICATION("uwsgi shop.ini:prod", "shop"),
    TOOL("uwsgi :8080", "uwsgi", "."),
    APPLICATION("flask --app flaskapp run", "flaskapp"),
    APPLICATION("flask --app flaskapp.py --debug run", "flaskapp"),
    TOOL("flask run", "flask", "."),
    APPLICATION("flask -A shop issue-token --app s3cr3t", "shop"),
    TOOL("flask add-token --app s3cr3t", "flask", "."),
    APPLICATION("flask --app ./shop/site.py:create run", "site"),
    APPLICATION("fastapi run main.py --app api", "main"),
    APPLICATION("fastapi run -e shop:api", "shop"),
    TOOL("python3 /srv/shop/manage.py runserver 0:80", "manage", "/srv/shop/manage.py"),
    TOOL("python3 /v/bin/django-admin runserver", "django-admin", "."),
    APPLICATION("python3 manage.py runserver --settings mysite.settings.prod", "mysite"),
    APPLICATION("=(wsgi:billing)", "billing"),
    APPLICATION("=(wsgi:billing)    \n-f\n/etc/apache2/apache2.conf\n-D\nFOREGROUND", "billing"),

    /* Queues. */
    APPLICATION("python3 /usr/bin/celery -A shop.tasks worker", "shop.tasks"),
    APPLICATION("python3 -m celery --app=shop worker -n w1@host", "shop"),
    TOOL("python3 -m celery -A", "celery", "."),
    APPLICATION("dramatiq drama --processes 2", "drama"),
    APPLICATION("huey_consumer hueyapp.huey -w 2", "hueyapp"),
    APPLICATION("rq worker --url redis://:pw@h/0 mail high", "mail"),
    TOOL("rq worker", "rq", "."),

    /* Tools that run a file. */
    APPLICATION("scrapy runspider spider.py -a k=v", "spider"),
    APPLICATION("streamlit run --server.port 80 st.py", "st"),
    APPLICATION("papermill -p token s3cr3t in.ipynb out.ipynb", "in"),
    APPLICATION("papermill nb.ipynb out.ipynb -p token s3cr3t", "nb"),
    APPLICATION("ansible-playbook -i hosts site.yml", "site"),
    APPLICATION("luigi --module etl Load --token x", "etl"),
    PART("python3 -m ipykernel_launcher -f /run/kernel-1.json", "ipykernel_launcher"),

    /* Runners. */
    APPLICATION("python3 /usr/bin/poetry run python shop.py", "shop"),
    APPLICATION("python3 /usr/bin/poetry run shop --fast", "shop"),
    APPLICATION("python3 /usr/bin/poetry install shop", "poetry"),
    TOOL("python3 /usr/bin/poetry run", "poetry", ""),
    APPLICATION("pipenv run gunicorn -w 4 shop.wsgi:app", "shop"),
    APPLICATION("opentelemetry-instrument --metrics_exporter console python -m shop", "shop"),
    APPLICATION("ddtrace-run uvicorn api:app", "api"),
    APPLICATION("newrelic-admin run-program python3 shop.py", "shop"),
    APPLICATION("newrelic-admin validate-config shop.py", "newrelic-admin"),
    APPLICATION("poetry -n run shop", "shop"),
    APPLICATION("torchrun --nproc-per-node 2 train.py s3cr3t", "train"),
    APPLICATION("torchrun --run-path train.py s3cr3t", "train"),
    APPLICATION("accelerate launch --multi-gpu train.py s3cr3t", "train"),
    APPLICATION("accelerate launch --module shop.train", "shop.train"),
    APPLICATION("python3 -m trace -c shop.py s3cr3t", "shop"),
    APPLICATION("python3 -m memray run --live-remote shop.py s3cr3t", "shop"),
    TOOL("python3 -m memray run -c x=1 s3cr3t", "memray", ""),
    APPLICATION("python3 -m debugpy --listen 5678 --log-to-stderr shop.py s3cr3t", "shop"),
    TOOL("python3 -m debugpy --listen 5678 -c code s3cr3t", "debugpy", ""),
    TOOL("python3 -m debugpy --new-flag shop.py s3cr3t", "debugpy", ""),
    APPLICATION("uv run --all-extras shop.py s3cr3t", "shop"),
    TOOL("coverage run coverage run coverage run coverage run coverage run coverage run coverage "
         "run s3cr3t",
         "coverage", ""),
    APPLICATION("coverage run --source=. -p shop.py --x y", "shop"),
    APPLICATION("python3 -m coverage run -m shop.main", "shop.main"),
    APPLICATION("python3 -m debugpy --listen 127.0.0.1:5678 --wait-for-client shop.py", "shop"),
    APPLICATION("poetry run ddtrace-run coverage run -m gunicorn shop:app", "shop"),

    /* Parts of a program. */
    PART("=python3\n-c\nfrom multiprocessing.spawn import spawn_main; spawn_main(pipe_handle=5)",
         ""),
    PART("python3 -m joblib.externals.loky.backend.popen_loky_posix --pipe 9",
         "joblib.externals.loky.backend.popen_loky_posix"),
    PART("python3 /v/site-packages/ray/_private/workers/default_worker.py --token x",
         "default_worker"),
    PART("python3 /v/site-packages/ray/dashboard/agent.py", "agent"),
    APPLICATION("python3 /srv/agent.py", "agent"),

    /* A command line that was joined, and titles. */
    APPLICATION("=python spt.py --token s3cr3t-value --mode fast", "spt"),
    APPLICATION("=python spt.py --db postgres://u@h/x", "spt"),
    APPLICATION("=/v/bin/python3 /v/bin/gunicorn -k gevent -b 127.0.0.1:9 shopweb:app", "shopweb"),
    APPLICATION("=gunicorn -k gevent -w 1 -b 127.0.0.1:9313 -n shop3 shopweb:app", "shop3"),
    APPLICATION("=gunicorn: worker [shop.wsgi:app]", "shop"),
    APPLICATION("=gunicorn: master [shop]", "shop"),
    TOOL("=[gunicorn]", "gunicorn", "."),
    APPLICATION("=granian asgi 127.0.0.1:8025 shopweb:asgi", "shopweb"),
    PART("=[celeryd: celery@host:MainProcess] -active- (-A tasks worker -P x)", "tasks"),
    PART("=[celeryd: celery@host:ForkPoolWorker-1]", "celery"),
    PART("=ray::IDLE", "ray"),
    TOOL("=shop: token=s3cr3t", "", ""),
    TOOL("=shop worker s3cr3t", "", ""),
    TOOL("=s3cr3t token here", "", ""),
    TOOL("=postgres://u:p@host/db", "", ""),
    TOOL("=gunicorn s3cr3t running", "", ""),
    TOOL("=daphne serving x", "", ""),
    TOOL("=python3 gunicorn --env PASSWORD=my s3cr3t shop.wsgi", "", ""),
    {"", CMDLINE_NONE, "", NULL},
};

/* The text of /proc/PID/cmdline. Gives its size. */
static size_t text_of(const char *line, char *out, size_t size)
{
    const bool one = line[0] == '=';
    const size_t length = strlen(line + one);

    assert_true(length < size);
    memcpy(out, line + one, length + 1);
    for (size_t i = 0; i < length; i++)
        if (out[i] == (one ? '\n' : ' '))
            out[i] = '\0';
    return length + 1;
}

static void parse_line(const char *line, struct cmdline_program *out)
{
    char text[4096];
    const size_t size = text_of(line, text, sizeof(text));

    cmdline_parse_text(text, size, out);
}

static void names_what_is_run(void **state)
{
    struct cmdline_program program;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse_line(rows[i].line, &program);
        if (program.kind != rows[i].kind || strcmp(program.name, rows[i].name) != 0 ||
            (rows[i].folder_of && strcmp(program.folder_of, rows[i].folder_of) != 0))
            fail_msg("%s: %d \"%s\" (%s), folder of \"%s\"", rows[i].line, (int)program.kind,
                     program.name, program.rule, program.folder_of);
    }
}

static void says_why(void **state)
{
    struct cmdline_program program;

    (void)state;
    parse_line("gunicorn -w 4 shop:app", &program);
    assert_string_equal(program.rule, "application of gunicorn");
    parse_line("gunicorn -n mine shop:app", &program);
    assert_string_equal(program.rule, "-n of gunicorn");
    parse_line("python3 -m shop", &program);
    assert_string_equal(program.rule, "module");
    parse_line("ddtrace-run python3 shop.py", &program);
    assert_string_equal(program.rule, "script");
    parse_line("python3 manage.py runserver", &program);
    assert_string_equal(program.variable, "DJANGO_SETTINGS_MODULE");
}

static void tells_workers_from_helpers(void **state)
{
    struct cmdline_program program;

    (void)state;
    parse_line("=python3\n-c\nfrom multiprocessing.spawn import spawn_main", &program);
    assert_int_equal(program.role, CMDLINE_WORKER);
    parse_line("=python3\n-c\nfrom multiprocessing.resource_tracker import main;main(5)", &program);
    assert_int_equal(program.role, CMDLINE_HELPER);
    parse_line("=python3\n-c\nprint(1)", &program);
    assert_int_equal(program.role, CMDLINE_ROLE_UNKNOWN);
}

static void makes_names_of_texts(void **state)
{
    char name[16];

    (void)state;
    assert_true(cmdline_name_of(CMDLINE_PACKAGE, "mysite.settings.prod", name, sizeof(name)));
    assert_string_equal(name, "mysite");
    assert_true(cmdline_name_of(CMDLINE_PARENT, "huey", name, sizeof(name)));
    assert_string_equal(name, "huey");
    assert_true(cmdline_name_of(CMDLINE_FILE, "/srv/a b/nb 1.ipynb", name, sizeof(name)));
    assert_string_equal(name, "nb_1");
    assert_true(cmdline_name_of(CMDLINE_FILE, "/srv/.profile", name, sizeof(name)));
    assert_string_equal(name, ".profile");
    assert_true(cmdline_name_of(CMDLINE_WORD, "aaaaaaaaaaaaaaaaaaaaaaa", name, sizeof(name)));
    assert_string_equal(name, "aaaaaaaaaaaaaaa");
    assert_false(cmdline_name_of(CMDLINE_MODULE, "127.0.0.1:80", name, sizeof(name)));
    assert_true(cmdline_name_of(CMDLINE_MODULE, "a/b:c", name, sizeof(name)));
    assert_string_equal(name, "b");
    assert_false(cmdline_name_of(CMDLINE_MODULE, "b-c:d", name, sizeof(name)));
    assert_false(cmdline_name_of(CMDLINE_FILE, "///", name, sizeof(name)));
    assert_false(cmdline_name_of(CMDLINE_WORD, "", name, sizeof(name)));
}

static const char *const programs[] = {"python3 app.py",
                                       "python3 -m app",
                                       "gunicorn",
                                       "uvicorn",
                                       "daphne",
                                       "granian",
                                       "hypercorn",
                                       "waitress-serve",
                                       "uwsgi",
                                       "flask run",
                                       "celery worker",
                                       "python3 manage.py runserver",
                                       "dramatiq",
                                       "streamlit run",
                                       "papermill",
                                       "ansible-playbook",
                                       "ddtrace-run gunicorn",
                                       "coverage run",
                                       "python3 -m debugpy",
                                       "opentelemetry-instrument",
                                       "scrapy runspider",
                                       "poetry run",
                                       "rq worker",
                                       "python3 -c pass",
                                       "luigi",
                                       "huey_consumer",
                                       "shop",
                                       "./shop"};
static const char *const secrets[] = {"--token SECRET",
                                      "--token=SECRET",
                                      "-Z SECRET",
                                      "-ZSECRET",
                                      "--db postgres://u:SECRET@h/SECRET",
                                      "--header X-Key:SECRET",
                                      "--env KEY=SECRET",
                                      "--SECRET",
                                      "-x SECRET:SECRET",
                                      "--url redis://:SECRET@h/0",
                                      "--dsn https://SECRET@sentry/1",
                                      "--key SECRET.SECRET:SECRET"};
static const char *const ends[] = {"",   "shopweb:app", "shopweb.py", "mysite.wsgi",
                                   "-v", "--reload x"};

/* Whatever a server is given: before its application, after it, joined or not. */
static void tells_no_secret(void **state)
{
    struct cmdline_program program;
    char line[512];
    size_t tried = 0;

    (void)state;
    for (size_t p = 0; p < sizeof(programs) / sizeof(programs[0]); p++)
        for (size_t s = 0; s < sizeof(secrets) / sizeof(secrets[0]); s++)
            for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++)
                for (int form = 0; form < 4; form++, tried++) {
                    (void)snprintf(line, sizeof(line), "%s%s %s %s", form & 2 ? "=" : "",
                                   programs[p], form & 1 ? ends[e] : secrets[s],
                                   form & 1 ? secrets[s] : ends[e]);
                    parse_line(line, &program);
                    if (strstr(program.name, "SECRET") || strstr(program.folder_of, "SECRET") ||
                        strstr(program.rule, "SECRET"))
                        fail_msg("%s: \"%s\" (%s)", line, program.name, program.rule);
                    assert_int_equal(strspn(program.name, "abcdefghijklmnopqrstuvwxyz"
                                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                          "0123456789_.-"),
                                     strlen(program.name));
                }
    assert_true(tried > 1000);
}

static void bounds_all(void **state)
{
    static char text[200000];
    struct cmdline_program program;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    cmdline_parse_text(text, sizeof(text), &program);
    assert_int_equal(strlen(program.name), CMDLINE_NAME_MAX);
    for (size_t i = 1; i < sizeof(text) - 1; i += 2)
        text[i] = ' ';
    cmdline_parse_text(text, sizeof(text) - 1, &program);
    assert_string_equal(program.name, "");
    for (size_t i = 1; i < sizeof(text) - 1; i += 2)
        text[i] = '\0';
    cmdline_parse_text(text, sizeof(text), &program);
    assert_string_equal(program.name, "a");
    parse_line("poetry run poetry run poetry run poetry run poetry run poetry run poetry run "
               "poetry run poetry run x.py",
               &program);
    assert_string_equal(program.name, "poetry");
}

static bool has_word(const char *list, const char *word)
{
    const size_t size = strlen(word);

    for (; *list; list += strcspn(list, " "), list += strspn(list, " "))
        if (strcspn(list, " ") == size && memcmp(list, word, size) == 0)
            return true;
    return false;
}

/* Where a word is listed twice, or an option is both with and without a value, a row is wrong. */
static void has_a_sound_table(void **state)
{
    (void)state;
    for (const struct command *row = commands; row->names || row->path; row++)
        for (size_t i = 0; i < COMMAND_OPTIONS_MAX && row->options[i].option; i++) {
            assert_int_equal(row->options[i].option[0], '-');
            assert_false(has_word(row->flags ? row->flags : "", row->options[i].option));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_run),
        cmocka_unit_test(says_why),
        cmocka_unit_test(tells_workers_from_helpers),
        cmocka_unit_test(makes_names_of_texts),
        cmocka_unit_test(tells_no_secret),
        cmocka_unit_test(bounds_all),
        cmocka_unit_test(has_a_sound_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
