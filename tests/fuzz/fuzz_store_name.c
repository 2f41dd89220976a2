/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_store_name.c - any service gets one harmless name; names read are only those written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/store_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_service(const char *service)
{
    char name[STORE_SERVICE_SIZE], back[STORE_SERVICE_SIZE];

    store_name_service(service, name);
    require(strlen(name) > 0 && strlen(name) < sizeof(name));
    require(name[0] != '.' && !strchr(name, '/') && store_name_is_service(name));
    if (store_name_read_service(name, back))
        require(strcmp(back, service) == 0);
    else
        require(strchr(name, '~') != NULL); /* it was cut */
}

static void check_name(const char *name)
{
    char again[STORE_FILE_SIZE], back[1025];
    struct store_file file;

    for (int temporary = 0; temporary < 2; temporary++) {
        if (store_name_read_file(name, temporary != 0, &file)) {
            store_name_file(&file, temporary != 0, again);
            require(strcmp(name, again) == 0);
        }
    }
    if (store_name_read_service(name, back))
        require(store_name_is_service(name));
    if (store_name_is_service(name))
        require(name[0] != '.' && !strchr(name, '/') && strlen(name) < 255);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1025];

    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    check_service(text);
    check_name(text);
    return 0;
}
