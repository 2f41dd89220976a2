/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts.c - the only file that knows one CPython version from another.
 *
 * To add a version, add a row (3.12 and before: `layouts`; later: a column of
 * `debug_fields` and a row of `undescribed_fields`). If a version behaves otherwise (not
 * only moves a field), give struct layout a field that says how; nothing else in
 * unwind/ compares version numbers.
 */
#include "unwind/layouts/layout.h"

#include <stdio.h>
#include <string.h>

/* pthread_mutex_t and pthread_cond_t are larger there: what stands behind those of the GIL. */
#if defined(__aarch64__)
enum { MUTEX_SHIFT = 16 };
#else
enum { MUTEX_SHIFT = 0 };
#endif

/* What is the same in all versions that have no table of their own. */
#define COMMON_OBJECTS                                                                             \
    .object = {.ob_type = 8, .ob_size = 16}, .bytes = {.ob_sval = 32},                             \
    .integer = {.tag = 16, .digit = 24}, .gil.enabled = NO_FIELD, .interp.gc_frame = NO_FIELD,     \
    .thread.gil_requested = NO_FIELD, .thread.base_frame = NO_FIELD, .frame.tlbc_index = NO_FIELD, \
    .interp.threads_main = NO_FIELD, .interp.code_generation = NO_FIELD, .generator_owner = 1,     \
    .thread.recursion_remaining = NO_FIELD, .code.tlbc = NO_FIELD, .tag_mask = UINT64_MAX
#define UNICODE_BITS .kind_shift = 2, .compact = 32, .ascii = 64

/* What 3.6 to 3.10 have in common: heap frames, one GIL, attributes in dicts. */
#define HEAP_FRAMES                                                                                \
    COMMON_OBJECTS,                                                                                \
        .gil.last_holder = NO_FIELD, .gil.locked = NO_FIELD, .gil.switch_number = NO_FIELD,        \
        .interp.gil = NO_FIELD, .thread.cframe = NO_FIELD, .thread.status = NO_FIELD,              \
        .thread.native_thread_id = NO_FIELD, .thread.datastack_chunk = NO_FIELD, .thread.next = 8, \
        .thread.interp = 16, .thread.current_frame = 24, .frame.previous = 24,                     \
        .frame.executable = 32, .frame.owner = NO_FIELD, .frame.is_entry = NO_FIELD,               \
        .frame.frame_obj = NO_FIELD, .interp.next = 0, .interp.threads_head = 8,                   \
        .unicode = {.length = 16,                                                                  \
                    .state = 32,                                                                   \
                    .ascii_data = 48,                                                              \
                    .compact_data = 72,                                                            \
                    UNICODE_BITS},                                                                 \
        .dict = {.ma_keys = 32, .ma_values = 40, .values_skip = 0, .managed = NO_FIELD},           \
        .code.firsttraceable = NO_FIELD, .code.bytecode = NO_FIELD, .code.monitoring = NO_FIELD,   \
        .code.version = NO_FIELD, .shim_owner = UINT8_MAX, .integer_tag_is_count = true,           \
        .frames = FRAMES_OBJECT, .chain_end = END_NULL, .attributes = ATTRIBUTES_DICT,             \
        .keys = KEYS_3_6

/* What only some of those have in common. */
#define CODE_3_6                                                                        \
    .code.size = 144, .code.filename = 96, .code.qualname = 104, .code.linetable = 112, \
    .code.firstlineno = 36, .code.co_code = 40
#define CODE_3_8                                                                         \
    .code.size = 176, .code.filename = 104, .code.qualname = 112, .code.linetable = 120, \
    .code.firstlineno = 40, .code.co_code = 48
#define THREAD_3_7                                                                   \
    .thread.thread_id = 176, .thread.current_exception = 88, .thread.exc_info = 144, \
    .thread.exc_value = 8, .thread.exc_previous = 24
#define FRAME_3_7 \
    .frame.size = 360, .frame.instr = 104, .lasti_in_bytes = true, .lines = LINES_LNOTAB
#define INTERP_3_9                                   \
    .runtime = {.interpreters_head = 32,             \
                .main_thread = 72,                   \
                .finalizing = 16,                    \
                .tstate_current = 568 + MUTEX_SHIFT, \
                .collecting = NO_FIELD},             \
    .interp.id = 24, .interp.modules = 856, .interp.collecting = 816

/* What 3.11 and 3.12 have in common: frames in the data stack. */
#define INTERPRETER_FRAMES                                                                         \
    COMMON_OBJECTS,                                                                                \
        .interp.next = 0, .thread.next = 8, .thread.interp = 16, .thread.current_frame = NO_FIELD, \
        .thread.cframe = 56, .thread.current_exception = 96, .thread.exc_value = 0,                \
        .thread.exc_previous = 8, .frame.size = 72, .frame.instr = 56, .code.filename = 112,       \
        .code.qualname = 128, .code.linetable = 136, .code.co_code = NO_FIELD,                     \
        .dict = {.ma_keys = 32, .ma_values = 40, .values_skip = 0, .managed = 24},                 \
        .frames = FRAMES_INTERPRETER, .instr_in_caches = true, .keys = KEYS_3_11,                  \
        .lines = LINES_3_11

#define TYPE_FIELDS(cached_keys)   \
    .type = {.tp_name = 24,        \
             .tp_flags = 168,      \
             .tp_basicsize = 32,   \
             .tp_dictoffset = 288, \
             .ht_cached_keys = cached_keys}

static const struct layout layouts[] = {
    {
        .major = 3,
        .minor = 6, /* Include, Python/pystate.c, tag v3.6.15; no _PyRuntime: */
        HEAP_FRAMES,
        TYPE_FIELDS(856), /* "runtime" is the variable interp_head */
        .runtime = {.interpreters_head = 0,
                    .main_thread = NO_FIELD,
                    .finalizing = NO_FIELD,
                    .tstate_current = NO_FIELD,
                    .collecting = NO_FIELD},
        .interp.size = 120,
        .interp.id = NO_FIELD,
        .interp.modules = 16,
        .interp.collecting = NO_FIELD,
        .thread.size = 2272,
        .thread.thread_id = 152,
        .thread.current_exception = 80,
        .thread.exc_info = NO_FIELD,
        .thread.exc_value = 112,
        .thread.exc_previous = NO_FIELD,
        .frame.size = 376,
        .frame.instr = 120,
        CODE_3_6,
        .lasti_in_bytes = true,
        .lines = LINES_LNOTAB,
    },
    {
        .major = 3,
        .minor = 7, /* Include/internal/pystate.h, tag v3.7.16 */
        HEAP_FRAMES,
        TYPE_FIELDS(856),
        .runtime = {.interpreters_head = 24,
                    .main_thread = 720,
                    .finalizing = 8,
                    .tstate_current = 1480 + MUTEX_SHIFT,
                    .collecting = 632},
        .interp.size = 2568,
        .interp.id = 16,
        .interp.modules = 40,
        .interp.collecting = NO_FIELD,
        .thread.size = 280,
        THREAD_3_7,
        FRAME_3_7,
        CODE_3_6,
    },
    {
        .major = 3,
        .minor = 8, /* Include/internal/pycore_pystate.h, tag v3.8.18 */
        HEAP_FRAMES,
        TYPE_FIELDS(872),
        .runtime = {.interpreters_head = 32,
                    .main_thread = 72,
                    .finalizing = 16,
                    .tstate_current = 1368 + MUTEX_SHIFT,
                    .collecting = 544},
        .interp.size = 2720,
        .interp.id = 16,
        .interp.modules = 56,
        .interp.collecting = NO_FIELD,
        .thread.size = 264,
        THREAD_3_7,
        FRAME_3_7,
        CODE_3_8,
    },
    {
        .major = 3,
        .minor = 9, /* Include/internal/pycore_*.h, tag v3.9.18 */
        HEAP_FRAMES,
        TYPE_FIELDS(864),
        INTERP_3_9,
        .interp.size = 5656,
        .thread.size = 264,
        THREAD_3_7,
        FRAME_3_7,
        CODE_3_8,
    },
    {
        .major = 3,
        .minor = 10, /* the same files, tag v3.10.13 */
        HEAP_FRAMES,
        TYPE_FIELDS(872),
        INTERP_3_9,
        .interp.size = 113528,
        .thread.size = 280,
        THREAD_3_7,
        .frame.size = 352,
        .frame.instr = 96,
        CODE_3_8,
        .lines = LINES_3_10,
    },
    {
        .major = 3,
        .minor = 11, /* the same files, tag v3.11.7 */
        INTERPRETER_FRAMES,
        TYPE_FIELDS(872),
        .runtime = {.interpreters_head = 40,
                    .main_thread = 80,
                    .finalizing = 24,
                    .tstate_current = 576 + MUTEX_SHIFT,
                    .collecting = NO_FIELD},
        .interp.size = 107752,
        .interp.id = 48,
        .interp.threads_head = 16,
        .interp.modules = 888,
        .interp.gil = NO_FIELD,
        .interp.collecting = 848,
        .gil.last_holder = NO_FIELD,
        .gil.locked = NO_FIELD,
        .gil.switch_number = NO_FIELD,
        .thread.size = 360,
        .thread.status = NO_FIELD,
        .thread.thread_id = 152,
        .thread.native_thread_id = 160,
        .thread.datastack_chunk = 296,
        .thread.exc_info = 120,
        .cframe = {.current_frame = 8},
        .frame.executable = 32,
        .frame.previous = 48,
        .frame.owner = 69,
        .frame.is_entry = 68,
        .frame.frame_obj = 40,
        .code.size = 192,
        .code.firstlineno = 72,
        .code.firsttraceable = 168,
        .code.version = NO_FIELD,
        .code.bytecode = 184,
        .code.monitoring = NO_FIELD,
        .unicode = {.length = 16, .state = 32, .ascii_data = 48, .compact_data = 72, UNICODE_BITS},
        .shim_owner = UINT8_MAX,
        .integer_tag_is_count = true,
        .chain_end = END_ENTRY,
        .attributes = ATTRIBUTES_3_11,
    },
    {
        .major = 3,
        .minor = 12, /* the same files, tag v3.12.1 */
        INTERPRETER_FRAMES,
        TYPE_FIELDS(880),
        .runtime = {.interpreters_head = 40,
                    .main_thread = 64,
                    .finalizing = 24,
                    .tstate_current = NO_FIELD,
                    .collecting = NO_FIELD},
        .interp.size = 383552,
        .interp.id = 8,
        .interp.threads_head = 72,
        .interp.modules = 944,
        .interp.gil = 384,
        .interp.collecting = 312,
        .gil.last_holder = 8,
        .gil.locked = 16,
        .gil.switch_number = 24,
        .thread.size = 288,
        .thread.status = 24,
        .thread.thread_id = 136,
        .thread.native_thread_id = 144,
        .thread.datastack_chunk = 232,
        .thread.exc_info = 104,
        .cframe = {.current_frame = 0},
        .frame.executable = 0,
        .frame.previous = 8,
        .frame.owner = 70,
        .frame.is_entry = NO_FIELD,
        .frame.frame_obj = 48,
        .code.size = 200,
        .code.firstlineno = 68,
        .code.firsttraceable = 176,
        .code.version = 92,
        .code.bytecode = 192,
        .code.monitoring = 168,
        .monitoring = {.lines = 40, .per_instruction_opcodes = 56},
        .unicode = {.length = 16, .state = 32, .ascii_data = 40, .compact_data = 56, UNICODE_BITS},
        .shim_owner = 3,
        .status_bound = 1U << 1,
        .status_cleared = 1U << 6,
        .chain_end = END_SHIM,
        .attributes = ATTRIBUTES_3_12,
    },
};

/*
 * What _Py_DebugOffsets does not say: Include/internal/pycore_*.h, tags v3.13.0,
 * v3.14.0 and v3.15.0.
 */
static const struct undescribed {
    struct layout layout;
    uint32_t free_threaded_traceable; /* code.firsttraceable of the free-threaded build */
} undescribed_fields[] = {
    {
        .layout =
            {
                .major = 3,
                .minor = 13,
                .code = {.firsttraceable = 184, .tlbc = NO_FIELD, .version = 92},
                .interp = {.threads_main = 7352, .code_generation = NO_FIELD, .gc_frame = NO_FIELD},
                .thread = {.base_frame = NO_FIELD,
                           .gil_requested = NO_FIELD,
                           .current_exception = 112,
                           .exc_info = 120,
                           .recursion_remaining = NO_FIELD},
                .frame = {.tlbc_index = NO_FIELD},
                .type = {.tp_basicsize = 32, .tp_dictoffset = 288, .ht_cached_keys = 880},
                .unicode = {UNICODE_BITS},
                .tag_mask = UINT64_MAX,
                .status_cleared = 1U << 7,
                .chain_end = END_SHIM,
            },
        .free_threaded_traceable = 200,
    },
    {
        .layout =
            {
                .major = 3,
                .minor = 14,
                .code = {.firsttraceable = 192, .version = NO_FIELD},
                .interp = {.gc_frame = NO_FIELD},
                .thread = {.base_frame = NO_FIELD,
                           .gil_requested = NO_FIELD,
                           .current_exception = 112,
                           .exc_info = 120,
                           .recursion_remaining = 48},
                .type = {.tp_basicsize = 32, .tp_dictoffset = 288, .ht_cached_keys = 880},
                .unicode = {UNICODE_BITS},
                /* What is awaited is on top of the stack. */
                .generator = {.awaited = 8,
                              .cleared = 4,
                              .executing = 0,
                              .delegates_first = -1,
                              .delegates_last = -1},
                .clears_frames = true,    /* Python/ceval.c, clear_thread_frame */
                .with_keeps_pair = true,  /* Python/bytecodes.c, LOAD_SPECIAL */
                .tag_mask = ~UINT64_C(3), /* executables are tagged references */
                .status_cleared = 1U << 6,
                .chain_end = END_SHIM,
            },
        .free_threaded_traceable = 208,
    },
    {
        .layout =
            {
                .major = 3,
                .minor = 15,
                .code = {.firsttraceable = 192, .version = NO_FIELD},
                .thread = {.exc_info = 144, .recursion_remaining = 52},
                .unicode = {UNICODE_BITS},
                /* ... or second from the top; the last state is that of a locked generator. */
                .generator = {.awaited = 16,
                              .cleared = 5,
                              .executing = 4,
                              .delegates_first = 2,
                              .delegates_last = 3},
                .clears_frames = true,
                .with_keeps_pair = true,
                .tag_mask = ~UINT64_C(3),
                .status_cleared = 1U << 6,
                .chain_end = END_BASE_FRAME,
            },
        .free_threaded_traceable = 208,
    },
};

enum { DEBUG_MINORS = 3, DEBUG_MINOR_FIRST = 13, DEBUG_MINOR_LAST = 15 };
enum { AT_VERSION = 8, AT_FREE_THREADED = 16 }; /* the same in every _Py_DebugOffsets */
#define NOT_THERE UINT16_MAX

/* Where _Py_DebugOffsets has the value of a field of struct layout: 3.13, 3.14, 3.15. */
static const struct {
    size_t field;
    uint16_t at[DEBUG_MINORS];
} debug_fields[] = {
#define FIELD(name, at13, at14, at15)  \
    {                                  \
        offsetof(struct layout, name), \
        {                              \
            at13, at14, at15           \
        }                              \
    }
    FIELD(runtime.finalizing, 32, 32, 32),
    FIELD(runtime.interpreters_head, 40, 40, 40),
    FIELD(interp.size, 48, 48, 48),
    FIELD(interp.id, 56, 56, 56),
    FIELD(interp.next, 64, 64, 64),
    FIELD(interp.threads_head, 72, 72, 72),
    FIELD(interp.threads_main, NOT_THERE, 80, 80),
    FIELD(interp.modules, 88, 96, 96),
    FIELD(interp.gil, 112, 120, 120),
    FIELD(gil.locked, 136, 144, 144),
    FIELD(gil.last_holder, 144, 152, 152),
    FIELD(interp.code_generation, NOT_THERE, 160, 160),
    FIELD(interp.collecting, 576, 656, 760), /* in gc: see at_gc */
    FIELD(interp.gc_frame, NOT_THERE, NOT_THERE, 768),
    FIELD(thread.size, 152, 176, 176),
    FIELD(thread.next, 168, 192, 192),
    FIELD(thread.interp, 176, 200, 200),
    FIELD(thread.current_frame, 184, 208, 208),
    FIELD(thread.base_frame, NOT_THERE, NOT_THERE, 216),
    FIELD(thread.thread_id, 192, 216, 240),
    FIELD(thread.native_thread_id, 200, 224, 248),
    FIELD(thread.datastack_chunk, 208, 232, 256),
    FIELD(thread.status, 216, 240, 264),
    FIELD(thread.gil_requested, NOT_THERE, NOT_THERE, 280),
    FIELD(thread.current_exception, NOT_THERE, NOT_THERE, 288),
    FIELD(frame.size, 224, 248, 312),
    FIELD(frame.previous, 232, 256, 320),
    FIELD(frame.executable, 240, 264, 328),
    FIELD(frame.instr, 248, 272, 336),
    FIELD(frame.values, 256, 280, 344),
    FIELD(frame.owner, 264, 288, 352),
    FIELD(frame.tlbc_index, NOT_THERE, 304, 368),
    FIELD(code.size, 272, 312, 376),
    FIELD(code.filename, 280, 320, 384),
    FIELD(code.qualname, 296, 336, 400),
    FIELD(code.linetable, 304, 344, 408),
    FIELD(code.firstlineno, 312, 352, 416),
    FIELD(code.bytecode, 344, 384, 448),
    FIELD(code.tlbc, NOT_THERE, 392, 456),
    FIELD(object.ob_type, 360, 408, 472),
    FIELD(object.ob_size, 416, 464, 560), /* that of a tuple: every PyVarObject's */
    FIELD(type.tp_name, 376, 424, 488),
    FIELD(type.tp_flags, 392, 440, 504),
    FIELD(type.tp_basicsize, NOT_THERE, NOT_THERE, 512),
    FIELD(type.tp_dictoffset, NOT_THERE, NOT_THERE, 520),
    FIELD(type.ht_cached_keys, NOT_THERE, NOT_THERE, 536),
    FIELD(dict.ma_keys, 456, 536, 632),
    FIELD(dict.ma_values, 464, 544, 640),
    FIELD(integer.tag, 496, 576, 672),
    FIELD(integer.digit, 504, 584, 680),
    FIELD(bytes.ob_sval, 528, 608, 704),
    FIELD(unicode.state, 544, 624, 720),
    FIELD(unicode.length, 552, 632, 728),
    FIELD(unicode.ascii_data, 560, 640, 736),
    FIELD(unicode.compact_data, NOT_THERE, NOT_THERE, 744),
    FIELD(generator.size, NOT_THERE, 664, 792),
    FIELD(generator.iframe, NOT_THERE, 680, 808),
    FIELD(generator.frame_state, NOT_THERE, 688, 816),
    FIELD(generator.stackpointer, NOT_THERE, 296, 360),
    FIELD(llist.next, NOT_THERE, 696, 824),
    FIELD(llist.prev, NOT_THERE, 704, 832),
    FIELD(set.size, NOT_THERE, 496, 592),
    FIELD(set.used, NOT_THERE, 504, 600),
    FIELD(set.table, NOT_THERE, 512, 608),
    FIELD(set.mask, NOT_THERE, 520, 616),
#undef FIELD
};

/* gil.* above are offsets of the interpreter's embedded gil; here is where that starts. */
static const uint16_t at_embedded_gil[DEBUG_MINORS] = {120, 128, 128};

/* collecting and gc_frame are offsets inside the interpreter's gc; here is where that starts. */
static const uint16_t at_gc[DEBUG_MINORS] = {80, 88, 88};

const struct layout *layout_of_version(uint32_t hexversion)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (hexversion >> 16 == (uint32_t)(layouts[i].major << 8 | layouts[i].minor))
            return &layouts[i];
    return NULL;
}

void layout_version_text(uint32_t hexversion, char *out, size_t size)
{
    static const char *const levels[16] = {[0xA] = "a", [0xB] = "b", [0xC] = "rc"};
    const char *level = levels[hexversion >> 4 & 0xF];
    int used = snprintf(out, size, "%u.%u.%u", hexversion >> 24, hexversion >> 16 & 0xFF,
                        hexversion >> 8 & 0xFF);

    if (level && used > 0 && (size_t)used < size)
        (void)snprintf(out + used, size - (size_t)used, "%s%u", level, hexversion & 0xF);
}

static uint64_t word_at(const unsigned char *table, size_t at)
{
    uint64_t word;

    memcpy(&word, table + at, sizeof(word));
    return word;
}

/* A value of the table that no structure of CPython can hold becomes one that never fits. */
static uint32_t offset_at(const unsigned char *table, size_t at)
{
    uint64_t word = word_at(table, at);

    return word < NO_FIELD ? (uint32_t)word : NO_FIELD - 1;
}

/* The same for a sum of two. */
static uint32_t add_field_offsets(uint32_t a, uint32_t b)
{
    return a < NO_FIELD - b ? a + b : NO_FIELD - 1;
}

static void fill_from_debug_offsets(const unsigned char *table, size_t column,
                                    struct layout *layout)
{
    uint32_t value, gil = offset_at(table, at_embedded_gil[column]),
                    gc = offset_at(table, at_gc[column]);

    for (size_t i = 0; i < sizeof(debug_fields) / sizeof(debug_fields[0]); i++) {
        if (debug_fields[i].at[column] == NOT_THERE)
            continue;
        value = offset_at(table, debug_fields[i].at[column]);
        memcpy((char *)layout + debug_fields[i].field, &value, sizeof(value));
    }
    layout->gil.locked -= gil;
    layout->gil.last_holder -= gil;
    layout->gil.switch_number =
        add_field_offsets(layout->gil.locked, 8); /* the word behind the int `locked` */
    layout->interp.collecting = add_field_offsets(layout->interp.collecting, gc);
    if (layout->interp.gc_frame != NO_FIELD)
        layout->interp.gc_frame = add_field_offsets(layout->interp.gc_frame, gc);
    if (layout->unicode.compact_data == 0) /* PyCompactUnicodeObject adds utf8_length and utf8 */
        layout->unicode.compact_data = layout->unicode.ascii_data + 16;
    layout->generator.held = layout->object.ob_size; /* the first word after PyObject */
}

/* What a build without the GIL has otherwise: its object header is 16 bytes longer. */
static void make_free_threaded(struct layout *l, uint32_t minor, uint32_t first_traceable)
{
    l->free_threaded = true;
    l->code.firsttraceable = first_traceable;
    l->code.version = NO_FIELD;
    l->gil.enabled = 0;
    l->dict.managed = 8;
    if (minor < 15) { /* 3.15 tells them itself */
        l->type.tp_basicsize = 48;
        l->type.tp_dictoffset = 304;
        l->type.ht_cached_keys = 896;
    }
    if (minor >= 14) { /* `interned` takes a whole byte */
        l->unicode.kind_shift = 8;
        l->unicode.compact = 1U << 11;
        l->unicode.ascii = 1U << 12;
    }
}

/* What all versions with debug offsets have in common that they do not say. */
static void fill_common(struct layout *l)
{
    l->runtime.main_thread = l->runtime.tstate_current = l->runtime.collecting = NO_FIELD;
    l->thread.cframe = l->cframe.current_frame = l->frame.is_entry = NO_FIELD;
    l->code.co_code = l->code.monitoring = l->gil.enabled = NO_FIELD;
    l->thread.exc_previous = 8;
    l->frame.frame_obj = 48;
    l->dict.values_skip = 8; /* capacity, size, embedded, valid */
    l->dict.managed = 24;
    l->shim_owner = 3;
    l->status_bound = 1U << 1;
    l->generator_owner = 1;
    l->frames = FRAMES_INTERPRETER;
    l->attributes = ATTRIBUTES_3_13;
    l->keys = KEYS_3_11;
    l->lines = LINES_3_11;
}

bool layout_is_proven(uint32_t hexversion)
{
    return hexversion >> 16 <= (3 << 8 | DEBUG_MINOR_LAST) && (hexversion >> 4 & 0xF) == 0xF;
}

enum cpy_rc layout_from_debug_offsets(const unsigned char *table, struct layout *out,
                                      uint32_t *out_hexversion, struct err *err)
{
    uint32_t hexversion = (uint32_t)word_at(table, AT_VERSION);
    uint32_t minor = hexversion >> 16 & 0xFF;
    const struct undescribed *undescribed;
    char text[32];

    layout_version_text(hexversion, text, sizeof(text));
    if (memcmp(table, LAYOUT_COOKIE, 8) != 0 || hexversion >> 24 != 3 ||
        minor < DEBUG_MINOR_FIRST) {
        err_set(err, "its table of offsets does not start as CPython's does");
        return CPY_FOREIGN;
    }
    /* A newer version is tried as the newest that is known: cpy_open checks its frames. */
    minor = minor > DEBUG_MINOR_LAST ? DEBUG_MINOR_LAST : minor;
    undescribed = &undescribed_fields[minor - DEBUG_MINOR_FIRST];
    *out = undescribed->layout;
    fill_common(out);
    fill_from_debug_offsets(table, minor - DEBUG_MINOR_FIRST, out);
    if (word_at(table, AT_FREE_THREADED) != 0)
        make_free_threaded(out, minor, undescribed->free_threaded_traceable);
    else
        out->frame.tlbc_index = out->code.tlbc = NO_FIELD;
    *out_hexversion = hexversion;
    if (layout_fits(out, err))
        return CPY_OK;
    err_within(err, "CPython %s is not known to this pystrobe", text);
    return CPY_FOREIGN;
}

/* Offsets that cpy_tasks reads by. */
static bool tasks_fit(const struct layout *l)
{
    const uint32_t set_last = l->set.size - 8, frame_last = l->frame.size - 8;

    if (l->generator.size == 0)
        return true;
    return l->generator.size <= 512 && l->generator.iframe < l->generator.size &&
           l->frame.size <= l->generator.size - l->generator.iframe &&
           l->generator.frame_state < l->generator.size && l->frame.size >= 8 &&
           l->generator.stackpointer <= frame_last && l->generator.held <= 64 && l->set.size >= 8 &&
           l->set.size <= 512 && l->set.used <= set_last && l->set.mask <= set_last &&
           l->set.table <= set_last && l->llist.next <= 8 && l->llist.prev <= 8 &&
           l->llist.next != l->llist.prev;
}

/* A field of `width` bytes of a structure of `size` bytes, as CPython itself checks them. */
static const struct {
    const char *name;
    size_t field, size;
    uint32_t width, max_size;
} checks[] = {
#define TEXT(words)    #words
#define AT(part, name) offsetof(struct layout, part.name)
#define CHECK(part, name, width, max)                               \
    {                                                               \
        TEXT(part.name), AT(part, name), AT(part, size), width, max \
    }
    CHECK(interp, id, 8, 1 << 20),
    CHECK(interp, next, 8, 1 << 20),
    CHECK(interp, threads_head, 8, 1 << 20),
    CHECK(interp, threads_main, 8, 1 << 20),
    CHECK(interp, modules, 8, 1 << 20),
    CHECK(interp, gil, 8, 1 << 20),
    CHECK(interp, code_generation, 8, 1 << 20),
    CHECK(interp, collecting, 4, 1 << 20),
    CHECK(interp, gc_frame, 8, 1 << 20),
    CHECK(thread, next, 8, 4096),
    CHECK(thread, interp, 8, 4096),
    CHECK(thread, current_frame, 8, 4096),
    CHECK(thread, cframe, 8, 4096),
    CHECK(thread, base_frame, 8, 4096),
    CHECK(thread, status, 4, 4096),
    CHECK(thread, gil_requested, 4, 4096),
    CHECK(thread, current_exception, 8, 4096),
    CHECK(thread, exc_info, 8, 4096),
    CHECK(thread, thread_id, 8, 4096),
    CHECK(thread, native_thread_id, 8, 4096),
    CHECK(thread, datastack_chunk, 16, 4096), /* and datastack_top, the next word */
    CHECK(thread, recursion_remaining, 8, 4096),
    CHECK(frame, executable, 8, 512),
    CHECK(frame, previous, 8, 512),
    CHECK(frame, instr, 8, 512),
    CHECK(frame, tlbc_index, 4, 512),
    CHECK(frame, owner, 1, 512),
    CHECK(frame, is_entry, 1, 512),
    CHECK(frame, frame_obj, 8, 512),
    CHECK(frame, values, 8, 512),
    CHECK(code, filename, 8, 1024),
    CHECK(code, qualname, 8, 1024),
    CHECK(code, linetable, 8, 1024),
    CHECK(code, firstlineno, 4, 1024),
    CHECK(code, firsttraceable, 4, 1024),
    CHECK(code, version, 4, 1024),
    CHECK(code, bytecode, 2, 1024),
    CHECK(code, co_code, 8, 1024),
    CHECK(code, tlbc, 8, 1024),
    CHECK(code, monitoring, 8, 1024),
#undef CHECK
    /* These two are taken from the copy of a code object, too. */
    {"object.ob_type", offsetof(struct layout, object.ob_type), offsetof(struct layout, code.size),
     8, 1024},
    {"object.ob_size", offsetof(struct layout, object.ob_size), offsetof(struct layout, code.size),
     8, 1024},
#undef AT
#undef TEXT
};

static uint32_t value_of(const struct layout *layout, size_t field)
{
    uint32_t value;

    memcpy(&value, (const char *)layout + field, sizeof(value));
    return value;
}

/* Offsets inside Python objects and the runtime: all of them are small. */
static const size_t small_fields[] = {
    offsetof(struct layout, type.tp_name),
    offsetof(struct layout, type.tp_flags),
    offsetof(struct layout, type.tp_basicsize),
    offsetof(struct layout, type.tp_dictoffset),
    offsetof(struct layout, type.ht_cached_keys),
    offsetof(struct layout, unicode.length),
    offsetof(struct layout, unicode.state),
    offsetof(struct layout, unicode.ascii_data),
    offsetof(struct layout, unicode.compact_data),
    offsetof(struct layout, bytes.ob_sval),
    offsetof(struct layout, integer.tag),
    offsetof(struct layout, integer.digit),
    offsetof(struct layout, dict.ma_keys),
    offsetof(struct layout, dict.ma_values),
    offsetof(struct layout, runtime.interpreters_head),
};

enum { SMALL_MAX = 4096 };

/* The content of a str or bytes object is read in one piece, from its length on. */
static bool contents_fit(const struct layout *l)
{
    const uint32_t state_end = l->unicode.state + 4;

    return l->unicode.length + 8 <= l->unicode.state && state_end <= l->unicode.ascii_data &&
           state_end <= l->unicode.compact_data && l->object.ob_size + 8 <= l->bytes.ob_sval;
}

bool layout_fits(const struct layout *layout, struct err *err)
{
    uint32_t offset, size;

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        offset = value_of(layout, checks[i].field);
        size = value_of(layout, checks[i].size);
        if (size <= checks[i].max_size &&
            (offset == NO_FIELD || (offset < size && checks[i].width <= size - offset)))
            continue;
        err_set(err, "offset %u of %s does not fit a structure of %u bytes", offset, checks[i].name,
                size);
        return false;
    }
    for (size_t i = 0; i < sizeof(small_fields) / sizeof(small_fields[0]); i++)
        if (value_of(layout, small_fields[i]) > SMALL_MAX) {
            err_set(err, "an offset inside an object is %u", value_of(layout, small_fields[i]));
            return false;
        }
    if (layout->runtime.finalizing != NO_FIELD && layout->runtime.finalizing > SMALL_MAX) {
        err_set(err, "the offset of runtime.finalizing is %u", layout->runtime.finalizing);
        return false;
    }
    if (layout->interp.gil != NO_FIELD &&
        (layout->gil.locked > SMALL_MAX || layout->gil.last_holder > SMALL_MAX)) {
        err_set(err, "the offsets of the GIL are not possible");
        return false;
    }
    if (!contents_fit(layout)) {
        err_set(err, "the offsets of str and bytes objects are not possible");
        return false;
    }
    if (!tasks_fit(layout)) {
        err_set(err, "the offsets of generators and sets are not possible");
        return false;
    }
    return true;
}

void layout_find_spans(struct layout *l)
{
    const bool counts = l->interp.code_generation != NO_FIELD || l->code.version != NO_FIELD;
    uint32_t offset, end, first = NO_FIELD, last = 0;

    l->thread.span = 0;
    l->interp.marker = counts ? l->interp.modules : NO_FIELD;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        offset = value_of(l, checks[i].field);
        end = offset + checks[i].width;
        if (offset == NO_FIELD || checks[i].field == offsetof(struct layout, interp.gil) ||
            (checks[i].field == offsetof(struct layout, interp.modules) && !counts))
            continue;
        if (checks[i].size == offsetof(struct layout, thread.size) && end > l->thread.span)
            l->thread.span = end;
        if (checks[i].size != offsetof(struct layout, interp.size))
            continue;
        first = offset < first ? offset : first;
        last = end > last ? end : last;
    }
    if (l->thread.exc_info == NO_FIELD && l->thread.exc_value + 8 > l->thread.span)
        l->thread.span = l->thread.exc_value + 8;
    l->interp.from = first;
    l->interp.span = last > first && last - first <= LAYOUT_SPAN_MAX ? last - first : 0;
}

bool layout_add_asyncio(struct layout *layout, const uint64_t words[LAYOUT_ASYNCIO_WORDS])
{
    static const struct {
        size_t field;
        uint32_t width; /* 0: the size of what follows */
        uint32_t max;   /* of that size */
    } fields[LAYOUT_ASYNCIO_WORDS] = {
#define WORD(name, width, max) {offsetof(struct layout, asyncio.name), width, max}
        WORD(task_size, 0, 1024),
        WORD(name, 8, 0),
        WORD(awaited_by, 8, 0),
        WORD(is_task, 1, 0),
        WORD(awaited_by_is_set, 1, 0),
        WORD(coro, 8, 0),
        WORD(node, 16, 0),
        WORD(interp_size, 0, 1 << 20),
        WORD(interp_tasks, 16, 0),
        WORD(thread_size, 0, 4096),
        WORD(running_loop, 8, 0),
        WORD(running_task, 8, 0),
        WORD(thread_tasks, 16, 0),
#undef WORD
    };
    struct layout with = *layout;
    uint64_t size = 0;
    uint32_t value;

    for (size_t i = 0; i < LAYOUT_ASYNCIO_WORDS; i++) {
        if (fields[i].width == 0 ? words[i] > fields[i].max || words[i] < 16
                                 : words[i] == 0 || words[i] > size - fields[i].width)
            return false;
        size = fields[i].width == 0 ? words[i] : size;
        value = (uint32_t)words[i];
        memcpy((char *)&with + fields[i].field, &value, sizeof(value));
    }
    if (with.asyncio.thread_size < with.thread.size)
        return false;
    with.thread.size = with.asyncio.thread_size; /* so that one read brings the running task, too */
    *layout = with;
    return true;
}
