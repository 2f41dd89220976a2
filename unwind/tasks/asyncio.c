/* SPDX-License-Identifier: Apache-2.0 */
/* asyncio.c - see asyncio.h. */
#include "unwind/tasks/asyncio.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "unwind/locate/loaded.h"

enum { WAIT_FIRST = 16, WAIT_MAX = 4096 };

void asyncio_init(struct asyncio *asyncio)
{
    *asyncio = (struct asyncio){.wait = WAIT_FIRST};
    tasklist_init(&asyncio->list);
    buf_init(&asyncio->name, 8 * OBJECT_TEXT_MAX);
    buf_init(&asyncio->name_again, 8 * OBJECT_TEXT_MAX);
}

void asyncio_finish(struct asyncio *asyncio)
{
    tasklist_finish(&asyncio->list);
    buf_finish(&asyncio->name);
    buf_finish(&asyncio->name_again);
    free(asyncio->chain);
    free(asyncio->waiters);
}

/* True if there is a table at `at` that can be. */
static bool use_asyncio_table(struct asyncio *asyncio, struct mem *mem, cpy_addr at,
                              struct layout *layout)
{
    uint64_t words[LAYOUT_ASYNCIO_WORDS];

    if (mem_read(mem, at, words, sizeof(words)) != CPY_OK || !layout_add_asyncio(layout, words))
        return false;
    asyncio->table = at;
    return true;
}

/* Looks into the object whose first mapping is `map`. */
static bool look_into(struct asyncio *asyncio, const struct asyncio_process *process,
                      const struct proc_map *map, struct loaded_files *files, struct layout *layout)
{
    static const char *const symbols[] = {"_Py_AsyncioDebug", "_AsyncioDebug"};
    struct elf_image image;
    cpy_addr at;

    if (loaded_files_skip(files, map) ||
        elf_image_read(process->mem, map->start, &image) != CPY_OK ||
        (!strstr(loaded_name(map), "_asyncio") &&
         (process->runtime < image.low || process->runtime >= image.high)))
        return false;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (loaded_find(process->mem, process->proc_fd, map, &image, ".AsyncioDebug", symbols[i],
                        &files->bytes_left, &at) == CPY_OK &&
            use_asyncio_table(asyncio, process->mem, at, layout))
            return true;
    loaded_files_note(files, map);
    return false;
}

static void look_into_all(struct asyncio *asyncio, const struct asyncio_process *process,
                          struct layout *layout)
{
    struct loaded_files files;
    struct maps maps;

    if (maps_read(process->proc_fd, &maps, NULL) != CPY_OK)
        return;
    loaded_files_init(&files);
    for (size_t i = 0; i < maps.count && asyncio->table == 0; i++)
        (void)look_into(asyncio, process, &maps.maps[i], &files, layout);
    asyncio->wait_min = maps.lines;
    maps_finish(&maps);
}

void asyncio_look(struct asyncio *asyncio, const struct asyncio_process *process,
                  struct layout *layout)
{
    struct asyncio_process living = *process;
    cpy_addr at;

    if (asyncio->table != 0 || layout->generator.size == 0)
        return;
    if (process->proc_fd < 0) {
        if (mem_read_word(process->mem, ASYNCIO_IN_IMAGE, &at) == CPY_OK)
            (void)use_asyncio_table(asyncio, process->mem, at, layout);
        return;
    }
    living.proc_fd = proc_living_dir(process->proc_fd);
    if (living.proc_fd < 0)
        return;
    look_into_all(asyncio, &living, layout);
    (void)close(living.proc_fd);
}

void asyncio_next_sample(struct asyncio *asyncio, const struct asyncio_process *process,
                         struct layout *layout)
{
    if (asyncio->table != 0 || layout->generator.size == 0 ||
        asyncio->samples++ < asyncio->next_look)
        return;
    asyncio_look(asyncio, process, layout);
    asyncio->next_look =
        asyncio->samples + (asyncio->wait > asyncio->wait_min ? asyncio->wait : asyncio->wait_min);
    asyncio->wait = asyncio->wait * 2 < WAIT_MAX ? asyncio->wait * 2 : WAIT_MAX;
}
