/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - the command line and the environment that Python keeps; see cpy.h.
 *
 * Source: Python's manual, sys.orig_argv and sys.argv; CPython, Modules/posixmodule.c, whose
 *         variable environ is made when the interpreter starts.
 */
#include <string.h>

#include "base/buf.h"
#include "unwind/target.h"

enum { NAME_BYTES_MAX = 1024, VALUE_BYTES_MAX = 32 << 10 };

/* sys and posix are among the first modules, and have some hundred variables; a hostile process may
 * have any number, and each costs a read. */
enum { FIRST_MODULES = 256, VARIABLES_MAX = 1024 };

/* md_dict of a PyModuleObject is its first field; Objects/moduleobject.c. */
#define MODULE_DICT(reader) ((reader)->layout->object.ob_size)

/* The main interpreter is the first that was made: the last of the list. */
static enum cpy_rc find_main_interpreter(const struct reader *reader, cpy_addr runtime,
                                         cpy_addr *out)
{
    cpy_addr next = 0;
    enum cpy_rc rc =
        mem_read_word(reader->mem, runtime + reader->layout->runtime.interpreters_head, &next);

    *out = 0;
    for (size_t i = 0; rc == CPY_OK && next != 0 && i < CPY_INTERPRETERS_MAX; i++) {
        *out = next;
        rc = mem_read_word(reader->mem, next + reader->layout->interp.next, &next);
    }
    return rc == CPY_OK && *out == 0 ? CPY_STARTING : rc;
}

/* The value of a module's variable. */
static enum cpy_rc find_variable(const struct reader *reader, cpy_addr runtime, const char *module,
                                 const char *name, cpy_addr *out)
{
    struct object_slot found = {0, 0}, value = {0, 0};
    cpy_addr interp, modules = 0, dict = 0;
    enum cpy_rc rc = find_main_interpreter(reader, runtime, &interp);

    if (rc == CPY_OK)
        rc = mem_read_word(reader->mem, interp + reader->layout->interp.modules, &modules);
    if (rc == CPY_OK)
        rc = modules ? object_dict_find_first(reader, modules, module, FIRST_MODULES, &found)
                     : CPY_STARTING;
    if (rc == CPY_OK)
        rc = found.value ? mem_read_word(reader->mem, found.value + MODULE_DICT(reader), &dict)
                         : CPY_RACED;
    if (rc == CPY_OK)
        rc = object_dict_find_first(reader, dict, name, VARIABLES_MAX, &value);
    *out = value.value;
    return rc == CPY_OK && value.value == 0 ? CPY_RACED : rc;
}

/* Appends the texts of a list of str. */
static enum cpy_rc read_texts(const struct reader *reader, cpy_addr list, struct buf *out)
{
    const uint32_t size_at = reader->layout->object.ob_size;
    cpy_addr type, items, item;
    uint64_t count;
    struct mem_range ranges[] = {{list + reader->layout->object.ob_type, &type, sizeof(type)},
                                 {list + size_at, &count, sizeof(count)},
                                 {list + size_at + 8, &items, sizeof(items)}}; /* ob_item */
    enum cpy_rc rc = mem_read_ranges(reader->mem, ranges, 3);

    if (rc != CPY_OK)
        return rc;
    if (!object_type_is(reader, type, "list") || count > CPY_WORDS_MAX)
        return CPY_RACED;
    for (uint64_t i = 0; i < count && rc == CPY_OK; i++) {
        rc = mem_read_word(reader->mem, items + i * sizeof(item), &item);
        if (rc == CPY_OK)
            rc = object_read_str(reader, item, out);
    }
    return rc;
}

static struct reader plain_reader(struct cpy_target *t)
{
    return (struct reader){t->process.mem, &t->found.layout, false};
}

enum cpy_rc cpy_read_arguments(struct cpy_target *t, struct buf *out)
{
    const struct reader reader = plain_reader(t);
    cpy_addr list = 0;
    enum cpy_rc rc = find_variable(&reader, t->found.runtime, "sys", "orig_argv", &list);

    if (rc == CPY_RACED) {
        rc = find_variable(&reader, t->found.runtime, "sys", "argv", &list);
        buf_add(out, "python", sizeof("python"));
    }
    if (rc == CPY_OK)
        rc = read_texts(&reader, list, out);
    return rc == CPY_OK && buf_failed(out) ? CPY_NOMEM : rc;
}

/* While variables are read. */
struct reading {
    const struct reader *reader;
    struct buf *out;
    size_t count;
    enum cpy_rc rc;
};

static bool read_variable(void *ctx, cpy_addr name, cpy_addr value, cpy_addr at)
{
    struct reading *reading = ctx;
    struct buf *out = reading->out;
    const size_t before = out->size;
    uint64_t size = 0;

    (void)at;
    if (reading->count++ == CPY_WORDS_MAX)
        return false;
    reading->rc = object_read_bytes(reading->reader, name, NAME_BYTES_MAX, out, &size);
    buf_add(out, "=", 1);
    if (reading->rc == CPY_OK)
        reading->rc = object_read_bytes(reading->reader, value, VALUE_BYTES_MAX, out, &size);
    buf_add(out, "", 1);
    if (reading->rc == CPY_OK && !buf_failed(out))
        return true;
    out->size = before; /* no part of a variable */
    return false;
}

enum cpy_rc cpy_read_environment(struct cpy_target *t, struct buf *out)
{
    const struct reader reader = plain_reader(t);
    struct reading reading = {.reader = &reader, .out = out, .rc = CPY_OK};
    cpy_addr dict;
    enum cpy_rc rc = find_variable(&reader, t->found.runtime, "posix", "environ", &dict);

    if (rc == CPY_OK)
        rc = object_dict_each(&reader, dict, read_variable, &reading);
    rc = rc == CPY_OK ? reading.rc : rc;
    return rc == CPY_OK && buf_failed(out) ? CPY_NOMEM : rc;
}
