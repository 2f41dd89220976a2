/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_spool_v1.c - any bytes are an entry of an older spool, or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/delivery/spool_v1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct spool_v1_entry entry;
    size_t length = 0;

    if (!spool_v1_decode(data, size, &entry))
        return 0;
    for (size_t i = 0; i < entry.ower_count; i++)
        length += strlen(entry.owers[i]);
    for (size_t i = 0; i < entry.profile.label_count; i++)
        length += strlen(entry.labels[i].name) + strlen(entry.labels[i].value);
    if (length > size || entry.profile.size > size)
        abort();
    return 0;
}
