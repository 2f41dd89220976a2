/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unwind_maps.c - any text as a memory map: mappings that can be, or a refusal. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/locate/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maps maps = {0};
    struct err err = {""};
    size_t i, paths = 0;
    int fd = memfd_create("maps", MFD_CLOEXEC);
    enum cpy_rc rc;

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    rc = maps_read_file(fd, &maps, &err);
    (void)close(fd);
    require(rc == CPY_OK || ((rc == CPY_FOREIGN || rc == CPY_GONE) && err.text[0] && !maps.maps));
    for (i = 0; maps.maps && i < maps.count; i++) {
        require(maps.maps[i].start < maps.maps[i].end);
        require(strchr(maps.maps[i].path, '\n') == NULL);
        paths += strlen(maps.maps[i].path);
    }
    require(paths <= size);
    maps_finish(&maps);
    return 0;
}
