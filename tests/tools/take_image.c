/* SPDX-License-Identifier: Apache-2.0 */
/* take_image.c - keeps what the unwinder reads of a process in a memory image: PID FILE. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/images/image.h"

int main(int argc, char **argv)
{
    struct err err = {""};

    if (argc != 3) {
        (void)fprintf(stderr, "usage: take_image PID FILE\n");
        return 2;
    }
    if (image_take((pid_t)strtol(argv[1], NULL, 10), argv[2], &err) == CPY_OK)
        return 0;
    (void)fprintf(stderr, "take_image: %s\n", err.text);
    return 1;
}
