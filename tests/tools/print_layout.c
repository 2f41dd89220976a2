/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_layout.c - prints the layout that the unwinder uses for a version, in the form of
 * layout_row.py: MINOR (3.6 to 3.12), or a memory IMAGE (3.13 and later), whose table of
 * offsets is taken as that of a free-threaded build with a word more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/images/image.h"
#include "unwind/target.h"

enum { AT_FREE_THREADED = 16 };

/* clang-format off */
#define FIELDS(X) \
    X(runtime.interpreters_head) \
    X(runtime.main_thread) X(runtime.finalizing) X(runtime.tstate_current) X(runtime.collecting) \
    X(interp.size) X(interp.next) X(interp.id) X(interp.threads_head) X(interp.threads_main) \
    X(interp.modules) X(interp.gil) X(interp.code_generation) X(interp.collecting) \
    X(interp.gc_frame) X(gil.enabled) X(gil.last_holder) X(gil.locked) X(thread.size) \
    X(thread.next) X(thread.interp) X(thread.current_frame) X(thread.cframe) X(thread.base_frame) \
    X(thread.status) X(thread.gil_requested) X(thread.thread_id) X(thread.native_thread_id) \
    X(thread.datastack_chunk) X(thread.current_exception) X(thread.exc_info) X(thread.exc_value) \
    X(cframe.current_frame) X(frame.size) X(frame.executable) X(frame.previous) X(frame.instr) \
    X(frame.owner) X(frame.is_entry) X(frame.tlbc_index) X(code.size) X(code.filename) \
    X(code.qualname) X(code.linetable) X(code.firstlineno) X(code.firsttraceable) X(code.version) \
    X(code.bytecode) X(code.co_code) X(code.tlbc) X(code.monitoring) X(monitoring.lines) \
    X(monitoring.per_instruction_opcodes) X(object.ob_type) X(object.ob_size) \
    X(type.tp_name) X(type.tp_flags) X(type.tp_basicsize) X(type.tp_dictoffset) \
    X(type.ht_cached_keys) X(unicode.length) X(unicode.state) X(unicode.ascii_data) \
    X(unicode.compact_data) X(unicode.kind_shift) X(unicode.compact) X(unicode.ascii) \
    X(bytes.ob_sval) X(integer.tag) X(integer.digit) X(dict.ma_keys) X(dict.ma_values) \
    X(dict.values_skip) X(dict.managed) X(shim_owner) X(generator_owner) X(status_bound) \
    X(status_cleared)
/* clang-format on */

static void print_field(const char *name, uint32_t value)
{
    if (value != NO_FIELD)
        (void)printf("    .%s = %u,\n", name, value);
}

static void print_layout(const struct layout *layout)
{
#define PRINT(name) print_field(#name, layout->name);
    FIELDS(PRINT)
#undef PRINT
}

static enum cpy_rc layout_of_image(const char *path, bool free_threaded, struct layout *out,
                                   struct err *err)
{
    unsigned char table[LAYOUT_DEBUG_OFFSETS_MAX];
    struct cpy_target *target = NULL;
    uint32_t hexversion;
    enum cpy_rc rc = image_open_target(path, &target, err);

    if (rc == CPY_OK)
        rc = mem_read(target->process.mem, target->found.runtime, table, sizeof(table));
    if (rc == CPY_OK && free_threaded)
        table[AT_FREE_THREADED] = 1;
    if (rc == CPY_OK)
        rc = layout_from_debug_offsets(table, out, &hexversion, err);
    cpy_close(target);
    return rc;
}

int main(int argc, char **argv)
{
    struct layout layout;
    const struct layout *row;
    struct err err = {""};

    if (argc < 2) {
        (void)fprintf(stderr, "usage: print_layout MINOR | IMAGE [ft]\n");
        return 2;
    }
    row = layout_of_version(3U << 24 | (uint32_t)strtoul(argv[1], NULL, 10) << 16);
    if (!row && layout_of_image(argv[1], argc > 2, &layout, &err) == CPY_OK)
        row = &layout;
    if (row)
        print_layout(row);
    else
        (void)fprintf(stderr, "print_layout: %s\n", err.text);
    return row ? 0 : 1;
}
