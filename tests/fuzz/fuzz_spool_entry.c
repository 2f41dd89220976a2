/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_spool_entry.c - any bytes are an entry or none; what is read is written as the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_name(const uint8_t *data, size_t size)
{
    char text[SPOOL_NAME_SIZE * 2], again[SPOOL_NAME_SIZE];
    struct spool_name name;

    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!spool_name_read(text, &name))
        return;
    spool_name_write(&name, again);
    require(strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spool_head head;
    struct buf again;

    check_name(data, size);
    (void)spool_decode(data, size, size + 1, &head);
    if (spool_decode(data, size, size, &head) != SPOOL_OK)
        return 0;
    buf_init(&again, SPOOL_HEAD_MAX);
    require(spool_encode(&head, &again) == SPOOL_OK);
    require(again.size + head.profile.size == size && memcmp(again.data, data, again.size) == 0);
    buf_finish(&again);
    return 0;
}
