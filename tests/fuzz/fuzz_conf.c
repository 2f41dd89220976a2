/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_conf.c - any bytes as ini text: an answer, never a crash, and what is printed reads back.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum conf_rc parse(const char *name, const char *text, size_t size, struct conf **out,
                          struct buf *errors)
{
    const struct conf_source source = {.path = name, .text = text, .size = size};

    return conf_load(&source, out, errors);
}

/* Settings without secrets print as text that gives the same text again. */
static void check_round_trip(const struct conf *conf)
{
    struct buf first, second, errors;
    struct conf *again;
    size_t i;

    for (i = 0; i < conf->exporter_count; i++)
        if (conf->exporters[i].header_count > 0)
            return; /* a masked value is no longer the same */
    buf_init(&first, CONF_TEXT_MAX);
    buf_init(&second, CONF_TEXT_MAX);
    buf_init(&errors, CONF_TEXT_MAX);
    conf_print(conf, &first);
    if (!buf_failed(&first)) {
        require(parse("again", buf_text(&first), first.size, &again, &errors) == CONF_OK);
        conf_print(again, &second);
        require(again->target_count == conf->target_count);
        require(again->exporter_count == conf->exporter_count);
        require(again->label_count == conf->label_count);
        conf_free(again);
    }
    buf_finish(&errors);
    buf_finish(&second);
    buf_finish(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf errors;
    struct conf *conf = NULL;
    enum conf_rc rc;

    buf_init(&errors, CONF_TEXT_MAX);
    rc = parse("fuzz.ini", (const char *)data, size, &conf, &errors);
    require((rc == CONF_OK) == (conf != NULL));
    require((rc == CONF_BAD) == (errors.size > 0));
    if (rc == CONF_OK)
        check_round_trip(conf);
    conf_free(conf);
    buf_finish(&errors);
    return 0;
}
