/* SPDX-License-Identifier: Apache-2.0 */
/* print_sample.c - prints the sample ini file, or with the argument "mdoc" the key reference. */
#include <stdio.h>
#include <string.h>

#include "conf/conf.h"

int main(int argc, char **argv)
{
    struct buf out;
    bool ok;

    buf_init(&out, CONF_TEXT_MAX);
    if (argc > 1 && strcmp(argv[1], "mdoc") == 0)
        conf_print_mdoc(&out);
    else
        conf_print_sample(&out);
    ok = !buf_failed(&out) && fwrite(out.data, 1, out.size, stdout) == out.size;
    buf_finish(&out);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
