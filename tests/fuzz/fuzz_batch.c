/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_batch.c - any bytes are a batch or none; what is read is written as the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_name(const uint8_t *data, size_t size)
{
    char text[SPOOL_FILE_NAME_SIZE * 2], again[SPOOL_FILE_NAME_SIZE];
    struct spool_name name;

    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!spool_file_name_read(text, &name))
        return;
    spool_file_name(&name, again);
    require(strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch *batch = NULL, *again;
    struct batch_set all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    unsigned char *bytes = malloc(size > 0 ? size : 1);

    check_name(data, size);
    require(bytes != NULL);
    memcpy(bytes, data, size);
    if (batch_read(bytes, size, &batch) != BATCH_OK)
        return 0;
    again = batch_subset(batch, &all);
    require(again && again->count == batch->count);
    for (size_t i = 0; i < batch->count; i++)
        require(again->profiles[i].size == batch->profiles[i].size &&
                again->profiles[i].label_count == batch->profiles[i].label_count);
    batch_unref(again);
    batch_unref(batch);
    return 0;
}
