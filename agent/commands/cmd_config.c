/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_config.c - `pystrobe config`: what an ini file comes to, or every mistake in it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/option_table.h"
#include "agent/commands/commands.h"
#include "conf/conf.h"

enum { OUTPUT_MAX = 16 << 20 };

static const char help[] =
    "Usage: pystrobe config [-c FILE] [--sample]\n\n"
    "Prints the settings in effect as an ini file. Each line names its source:\n"
    "FILE:LINE, an environment variable such as PYSTROBE_AGENT_RATE, or the default.\n"
    "Files of the folder conf.d beside FILE are read after it. Secrets are shown as\n"
    "***. Without -c: defaults and environment. If FILE has mistakes, prints all of\n"
    "them and exits with 78.\n\n"
    "  -c, --config FILE  the ini file, see pystrobe.ini(5)\n"
    "      --sample       print a sample ini file: every section and key, explained\n"
    "  -h, --help         this text\n\n"
    "Example:\n"
    "  pystrobe config -c /etc/pystrobe/pystrobe.ini\n";

struct request {
    const char *file; /* borrowed from argv; NULL: defaults */
    bool sample;
};

#define FIELD(field) OPTION_FIELD(struct request, field)

static const struct option_row rows[] = {
    {"config", 'c', OPTION_TEXT, FIELD(file)},
    {"sample", 0, OPTION_FLAG, FIELD(sample)},
    {.name = NULL},
};

/* Writes all of `text` and tells if it did not arrive: a full disk must not look like success. */
static int write_conf_text(const struct buf *text)
{
    if (buf_failed(text)) {
        (void)fputs("pystrobe: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    if (fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0)
        return EXIT_OK;
    (void)fprintf(stderr, "pystrobe: cannot write: %s\n", strerror(errno));
    return EXIT_FAILED;
}

/* Appends what to print to `out`, or the mistakes to `errors`. */
static enum conf_rc make_output(const struct request *request, struct buf *out, struct buf *errors)
{
    struct conf_source source;
    struct conf *conf = NULL;
    enum conf_rc rc;

    if (request->sample) {
        conf_print_sample(out);
        return CONF_OK;
    }
    source = options_source(request->file, NULL);
    rc = conf_load(&source, &conf, errors);
    if (rc == CONF_OK)
        conf_print(conf, out);
    conf_free(conf);
    return rc;
}

static int print_conf(const struct request *request)
{
    struct buf out, errors;
    int status = EXIT_FAILED;

    buf_init(&out, OUTPUT_MAX);
    buf_init(&errors, OUTPUT_MAX);
    switch (make_output(request, &out, &errors)) {
    case CONF_OK:
        status = write_conf_text(&out);
        break;
    case CONF_BAD:
        options_print_lines(&errors);
        status = EXIT_CONFIG;
        break;
    case CONF_NOMEM:
        (void)fputs("pystrobe: out of memory\n", stderr);
        break;
    }
    buf_finish(&errors);
    buf_finish(&out);
    return status;
}

int cmd_config(int argc, char **argv)
{
    static const struct option_table table = {.rows = rows, .help = help, .no_words = true};
    struct request request = {0};
    int status;

    if (!option_table_read(&table, argc, argv, &request, &status))
        return status;
    if (request.sample && request.file) {
        (void)fprintf(stderr, "pystrobe: --sample takes no FILE, it shows the defaults\n");
        return options_usage("config");
    }
    return print_conf(&request);
}
