/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free_threaded.c - where things lie in builds of CPython without the GIL.
 *
 * Printed by a program compiled against the headers of 3.13.18, 3.14.10 and 3.15.2 with
 * Py_GIL_DISABLED=1; none of the numbers comes from layouts.c.
 */
#include <string.h>

#include "tests/fakes/fake_process.h"

/* Where _Py_DebugOffsets of 3.13, 3.14 and 3.15 has the offset of a field (0: nowhere); the offset.
 */
struct field {
    uint32_t table_at[FAKE_MINORS], offset[FAKE_MINORS];
};

/* Fields of struct layout. */
static const struct {
    size_t in_layout;
    struct field field;
} fields[] = {
#define FIELD(name, at13, at14, at15, in13, in14, in15) \
    {                                                   \
        offsetof(struct layout, name),                  \
        {                                               \
            {at13, at14, at15},                         \
            {                                           \
                in13, in14, in15                        \
            }                                           \
        }                                               \
    }
    FIELD(runtime.finalizing, 32, 32, 32, 608, 784, 912),
    FIELD(runtime.interpreters_head, 40, 40, 40, 632, 808, 936),
    FIELD(interp.size, 48, 48, 48, 215616, 249976, 250328),
    FIELD(interp.id, 56, 56, 56, 7272, 7280, 7272),
    FIELD(interp.next, 64, 64, 64, 7264, 7272, 7264),
    FIELD(interp.threads_head, 72, 72, 72, 7344, 7344, 7336),
    FIELD(interp.threads_main, 0, 80, 80, 7352, 7360, 7352),
    FIELD(interp.modules, 88, 96, 96, 7664, 7712, 7592),
    FIELD(interp.gil, 112, 120, 120, 16, 16, 16),
    FIELD(interp.code_generation, 0, 160, 160, 0, 8024, 7952),
    FIELD(thread.size, 152, 176, 176, 312, 832, 888),
    FIELD(thread.next, 168, 192, 192, 8, 8, 8),
    FIELD(thread.interp, 176, 200, 200, 16, 16, 16),
    FIELD(thread.current_frame, 184, 208, 208, 72, 72, 72),
    FIELD(thread.base_frame, 0, 0, 216, 0, 0, 80),
    FIELD(thread.thread_id, 192, 216, 240, 152, 152, 176),
    FIELD(thread.native_thread_id, 200, 224, 248, 160, 160, 184),
    FIELD(thread.datastack_chunk, 208, 232, 256, 232, 232, 256),
    FIELD(thread.status, 216, 240, 264, 32, 32, 32),
    FIELD(thread.gil_requested, 0, 0, 280, 0, 0, 40),
    FIELD(thread.current_exception, 0, 0, 288, 112, 112, 136),
    FIELD(thread.exc_info, 0, 0, 0, 120, 120, 144),
    FIELD(frame.size, 224, 248, 312, 80, 88, 88),
    FIELD(frame.previous, 232, 256, 320, 8, 8, 8),
    FIELD(frame.executable, 240, 264, 328, 0, 0, 0),
    FIELD(frame.instr, 248, 272, 336, 56, 56, 56),
    FIELD(frame.owner, 264, 288, 352, 70, 78, 78),
    FIELD(frame.tlbc_index, 0, 304, 368, 0, 72, 72),
    FIELD(code.size, 272, 312, 376, 224, 240, 240),
    FIELD(code.filename, 280, 320, 384, 128, 128, 128),
    FIELD(code.qualname, 296, 336, 400, 144, 144, 144),
    FIELD(code.linetable, 304, 344, 408, 152, 152, 152),
    FIELD(code.firstlineno, 312, 352, 416, 84, 84, 84),
    FIELD(code.firsttraceable, 0, 0, 0, 200, 208, 208),
    FIELD(code.bytecode, 344, 384, 448, 216, 232, 232),
    FIELD(code.tlbc, 0, 392, 456, 0, 224, 224),
    FIELD(object.ob_type, 360, 408, 472, 24, 24, 24),
    FIELD(object.ob_size, 416, 464, 560, 32, 32, 32),
    FIELD(type.tp_name, 376, 424, 488, 40, 40, 40),
    FIELD(type.tp_flags, 392, 440, 504, 184, 184, 184),
    FIELD(type.tp_basicsize, 0, 0, 512, 48, 48, 48),
    FIELD(type.tp_dictoffset, 0, 0, 520, 304, 304, 304),
    FIELD(type.ht_cached_keys, 0, 0, 536, 896, 896, 904),
    FIELD(dict.ma_keys, 456, 536, 632, 48, 48, 48),
    FIELD(dict.ma_values, 464, 544, 640, 56, 56, 56),
    FIELD(integer.tag, 496, 576, 672, 32, 32, 32),
    FIELD(integer.digit, 504, 584, 680, 40, 40, 40),
    FIELD(bytes.ob_sval, 528, 608, 704, 48, 48, 48),
    FIELD(unicode.state, 544, 624, 720, 48, 48, 48),
    FIELD(unicode.length, 552, 632, 728, 32, 32, 32),
    FIELD(unicode.ascii_data, 560, 640, 736, 56, 56, 56),
    FIELD(unicode.compact_data, 0, 0, 744, 72, 72, 72),
#undef FIELD
};

/* Others that the table has. */
static const struct field others[] = {
    {{80, 88, 88}, {7400, 7408, 7400}},    /* interp.gc */
    {{120, 128, 128}, {7760, 7808, 7736}}, /* interp._gil */
    {{136, 144, 144}, {7784, 7832, 7760}}, /* interp._gil.locked */
    {{144, 152, 152}, {7776, 7824, 7752}}, /* interp._gil.last_holder */
    {{576, 656, 760}, {200, 192, 112}},    /* gc.collecting */
    {{0, 0, 768}, {0, 0, 120}},            /* gc.frame */
};

static void put_offset(unsigned char *table, const struct field *field, unsigned column)
{
    const uint64_t offset = field->offset[column];

    if (field->table_at[column] != 0)
        memcpy(table + field->table_at[column], &offset, sizeof(offset));
}

void fake_debug_offsets(unsigned minor, bool free_threaded, unsigned char *table)
{
    const uint64_t version = 3U << 24 | minor << 16 | 0xF0, ft = free_threaded;
    const unsigned column = minor - FAKE_FIRST_MINOR;
    size_t i;

    memset(table, 0, FAKE_DEBUG_OFFSETS);
    memcpy(table, LAYOUT_COOKIE, 8);
    memcpy(table + 8, &version, sizeof(version));
    memcpy(table + 16, &ft, sizeof(ft));
    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        put_offset(table, &fields[i].field, column);
    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        put_offset(table, &others[i], column);
}

struct layout fake_layout_free_threaded(unsigned minor)
{
    struct layout layout = {.major = 3,
                            .minor = (uint8_t)minor,
                            .free_threaded = true,
                            .thread = {.cframe = NO_FIELD},
                            .code = {.co_code = NO_FIELD, .version = NO_FIELD},
                            .frame = {.is_entry = NO_FIELD},
                            .dict = {.values_skip = 8}};
    const unsigned column = minor - FAKE_FIRST_MINOR;
    size_t i;

    for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        memcpy((unsigned char *)&layout + fields[i].in_layout, &fields[i].field.offset[column],
               sizeof(uint32_t));
    return layout;
}
