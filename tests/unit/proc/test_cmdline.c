/* SPDX-License-Identifier: Apache-2.0 */
/* test_cmdline.c - what a command line runs. */
#include <string.h>

#include "agent/proc/cmdline.h"
#include "tests/unit/unit_test.h"

/* Arguments with a 0 behind each, as the kernel shows them. */
#define LINE(text) text, sizeof(text)

static const struct {
    const char *text;
    size_t size;
    const char *name;
} rows[] = {
    {LINE("python3\0/srv/shop/worker.py\0--fast"), "worker"},
    {LINE("/usr/bin/python3.11\0worker.py"), "worker"},
    {LINE("python3\0-m\0shop.worker\0-v"), "shop.worker"},
    {LINE("python3\0-mshop.worker"), "shop.worker"},
    {LINE("python3\0-Im\0shop"), "shop"},
    {LINE("python3\0-X\0dev\0-W\0error\0-u\0run.py"), "run"},
    {LINE("python3\0-Xdev\0-Werror\0run.py"), "run"},
    {LINE("python3\0--check-hash-based-pycs\0always\0run.py"), "run"},
    {LINE("python3\0--\0run.py"), "run"},
    {LINE("python3\0-c\0import os"), "python3"},
    {LINE("python3\0-\0run.py"), "python3"},
    {LINE("python3"), "python3"},
    {LINE("python3\0-m"), "python3"},
    {LINE("python3\0/srv/shop/__main__.py"), "shop"},
    {LINE("python3\0__main__.py"), "__main__"},
    {LINE("/usr/bin/python3\0/usr/bin/ansible\0all"), "ansible"},
    {LINE("python3\0/usr/bin/gunicorn\0-w\0004\0--bind\0localhost:80\0shop.wsgi:app"), "shop"},
    {LINE("python3\0-m\0gunicorn\0app:app"), "app"},
    {LINE("python3\0-m\0gunicorn\0-c\0conf.py"), "gunicorn"},
    {LINE("gunicorn: worker [shop.wsgi:app]"), "shop"},
    {LINE("gunicorn: master [shop]"), "gunicorn"},
    {LINE("python3\0/usr/bin/uvicorn\0api.asgi:create()\0--factory"), "api"},
    {LINE("python3\0/usr/bin/celery\0-A\0shop.tasks\0worker"), "shop.tasks"},
    {LINE("python3\0-m\0celery\0--app=shop\0worker"), "shop"},
    {LINE("python3\0-m\0celery\0-A"), "celery"},
    {LINE("/usr/sbin/uwsgi\0--ini\0x"), "uwsgi"},
    {LINE("python3\0/usr/bin/poetry\0run\0python\0shop.py"), "shop"},
    {LINE("python3\0/usr/bin/poetry\0run\0shop\0--fast"), "shop"},
    {LINE("python3\0/usr/bin/poetry\0install\0shop"), "poetry"},
    {LINE("python3\0/usr/bin/poetry\0run"), "poetry"},
    {LINE("pipenv\0run\0gunicorn\0-w\0004\0shop.wsgi"
          "\0shop.wsgi:app"),
     "shop"},
    {LINE("python3\0/usr/bin/"
          "opentelemetry-instrument\0--metrics_exporter\0console\0python\0-m\0shop"),
     "shop"},
    {LINE("ddtrace-run\0uvicorn\0api:app"), "api"},
    {LINE("newrelic-admin\0run-program\0python3\0shop.py"), "shop"},
    {LINE("newrelic-admin\0validate-config\0shop.py"), "newrelic-admin"},
    {LINE(""), ""},
};

static void names_what_is_run(void **state)
{
    char name[64];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cmdline_name_of_text(rows[i].text, rows[i].size, name, sizeof(name));
        assert_string_equal(name, rows[i].name);
    }
}

static void cuts_a_name_that_is_too_long(void **state)
{
    static char text[600];
    char name[16];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    cmdline_name_of_text(text, sizeof(text), name, sizeof(name));
    assert_string_equal(name, "aaaaaaaaaaaaaaa");
    memcpy(text, "python3\0-m", 11);
    cmdline_name_of_text(text, sizeof(text), name, sizeof(name));
    assert_string_equal(name, "aaaaaaaaaaaaaaa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_run),
        cmocka_unit_test(cuts_a_name_that_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
