/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_conf_environ.c - lines as variables of the environment: an answer, never a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

enum { VARIABLES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ini[] = "[exporter far-away]\ntype = store\n[target web.1]\nuser = u\n";
    struct conf_source source = {.path = "fuzz.ini", .text = ini, .size = sizeof(ini) - 1};
    char *text = malloc(size + 1), *line, *environment[VARIABLES + 1];
    struct conf *conf = NULL;
    struct buf errors;
    size_t count = 0;
    enum conf_rc rc;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (line = text; line && count < VARIABLES; count++) {
        environment[count] = line;
        line = strchr(line, '\n');
        if (line)
            *line++ = '\0';
    }
    environment[count] = NULL;
    source.environment = environment;
    buf_init(&errors, CONF_TEXT_MAX);
    rc = conf_load(&source, &conf, &errors);
    if ((rc == CONF_OK) != (conf != NULL) || (rc == CONF_BAD) != (errors.size > 0))
        abort();
    conf_free(conf);
    buf_finish(&errors);
    free(text);
    return 0;
}
