/* SPDX-License-Identifier: Apache-2.0 */
/* opcode_of.c - prints what the unwinder knows of a version's opcodes, as opcodes.py: MINOR. */
#include <stdio.h>
#include <stdlib.h>

#include "unwind/layouts/opcodes.h"

int main(int argc, char **argv)
{
    const char *name;
    uint8_t minor;
    int opcode;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: opcode_of MINOR\n");
        return 2;
    }
    minor = (uint8_t)strtoul(argv[1], NULL, 10);
    for (opcode = 0; opcode <= UINT8_MAX; opcode++) {
        name = opcode_name(minor, (uint8_t)opcode);
        if (name)
            (void)printf("%d %d %s %d\n", minor, opcode, name,
                         opcode_caches(minor, (uint8_t)opcode));
    }
    return 0;
}
