/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made_fields.h - where things lie in free-threaded builds of CPython, for tests.
 *
 * Printed by a program compiled against the headers of 3.13.18, 3.14.10 and 3.15.2 with
 * Py_GIL_DISABLED=1; none of the numbers comes from layouts.c.
 */
#ifndef TESTS_UNIT_UNWIND_MADE_FIELDS_H
#define TESTS_UNIT_UNWIND_MADE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MADE_FIRST_MINOR = 13, MADE_MINORS = 3, MADE_TABLE = 1024 };

/* A field; where _Py_DebugOffsets of 3.13, 3.14 and 3.15 has its offset (0: nowhere); the offset.
 */
#define MADE_FIELDS(X)                                        \
    X(RUNTIME_FINALIZING, 32, 32, 32, 608, 784, 912)          \
    X(RUNTIME_INTERPRETERS, 40, 40, 40, 632, 808, 936)        \
    X(INTERP_SIZE, 48, 48, 48, 215616, 249976, 250328)        \
    X(INTERP_ID, 56, 56, 56, 7272, 7280, 7272)                \
    X(INTERP_NEXT, 64, 64, 64, 7264, 7272, 7264)              \
    X(INTERP_THREADS, 72, 72, 72, 7344, 7344, 7336)           \
    X(INTERP_THREADS_MAIN, 0, 80, 80, 7352, 7360, 7352)       \
    X(INTERP_GC, 80, 88, 88, 7400, 7408, 7400)                \
    X(INTERP_MODULES, 88, 96, 96, 7664, 7712, 7592)           \
    X(INTERP_CEVAL_GIL, 112, 120, 120, 16, 16, 16)            \
    X(INTERP_OWN_GIL, 120, 128, 128, 7760, 7808, 7736)        \
    X(INTERP_OWN_GIL_LOCKED, 136, 144, 144, 7784, 7832, 7760) \
    X(INTERP_OWN_GIL_HOLDER, 144, 152, 152, 7776, 7824, 7752) \
    X(INTERP_CODE_GENERATION, 0, 160, 160, 0, 8024, 7952)     \
    X(GC_COLLECTING, 576, 656, 760, 200, 192, 112)            \
    X(GC_FRAME, 0, 0, 768, 0, 0, 120)                         \
    X(THREAD_SIZE, 152, 176, 176, 312, 832, 888)              \
    X(THREAD_NEXT, 168, 192, 192, 8, 8, 8)                    \
    X(THREAD_INTERP, 176, 200, 200, 16, 16, 16)               \
    X(THREAD_CURRENT_FRAME, 184, 208, 208, 72, 72, 72)        \
    X(THREAD_BASE_FRAME, 0, 0, 216, 0, 0, 80)                 \
    X(THREAD_ID, 192, 216, 240, 152, 152, 176)                \
    X(THREAD_NATIVE_ID, 200, 224, 248, 160, 160, 184)         \
    X(THREAD_CHUNK, 208, 232, 256, 232, 232, 256)             \
    X(THREAD_STATUS, 216, 240, 264, 32, 32, 32)               \
    X(THREAD_GIL_REQUESTED, 0, 0, 280, 0, 0, 40)              \
    X(THREAD_CURRENT_EXCEPTION, 0, 0, 288, 112, 112, 136)     \
    X(THREAD_EXC_INFO, 0, 0, 0, 120, 120, 144)                \
    X(FRAME_SIZE, 224, 248, 312, 80, 88, 88)                  \
    X(FRAME_PREVIOUS, 232, 256, 320, 8, 8, 8)                 \
    X(FRAME_EXECUTABLE, 240, 264, 328, 0, 0, 0)               \
    X(FRAME_INSTR, 248, 272, 336, 56, 56, 56)                 \
    X(FRAME_OWNER, 264, 288, 352, 70, 78, 78)                 \
    X(FRAME_TLBC_INDEX, 0, 304, 368, 0, 72, 72)               \
    X(CODE_SIZE, 272, 312, 376, 224, 240, 240)                \
    X(CODE_FILENAME, 280, 320, 384, 128, 128, 128)            \
    X(CODE_QUALNAME, 296, 336, 400, 144, 144, 144)            \
    X(CODE_LINETABLE, 304, 344, 408, 152, 152, 152)           \
    X(CODE_FIRSTLINENO, 312, 352, 416, 84, 84, 84)            \
    X(CODE_FIRSTTRACEABLE, 0, 0, 0, 200, 208, 208)            \
    X(CODE_BYTECODE, 344, 384, 448, 216, 232, 232)            \
    X(CODE_TLBC, 0, 392, 456, 0, 224, 224)                    \
    X(OBJECT_TYPE, 360, 408, 472, 24, 24, 24)                 \
    X(TUPLE_SIZE, 416, 464, 560, 32, 32, 32)                  \
    X(TYPE_NAME, 376, 424, 488, 40, 40, 40)                   \
    X(TYPE_FLAGS, 392, 440, 504, 184, 184, 184)               \
    X(TYPE_BASICSIZE, 0, 0, 512, 48, 48, 48)                  \
    X(TYPE_DICTOFFSET, 0, 0, 520, 304, 304, 304)              \
    X(TYPE_CACHED_KEYS, 0, 0, 536, 896, 896, 904)             \
    X(DICT_KEYS, 456, 536, 632, 48, 48, 48)                   \
    X(DICT_VALUES, 464, 544, 640, 56, 56, 56)                 \
    X(INT_TAG, 496, 576, 672, 32, 32, 32)                     \
    X(INT_DIGIT, 504, 584, 680, 40, 40, 40)                   \
    X(BYTES_DATA, 528, 608, 704, 48, 48, 48)                  \
    X(STR_STATE, 544, 624, 720, 48, 48, 48)                   \
    X(STR_LENGTH, 552, 632, 728, 32, 32, 32)                  \
    X(STR_ASCII_DATA, 560, 640, 736, 56, 56, 56)              \
    X(STR_DATA, 0, 0, 744, 72, 72, 72)

enum made_field {
#define MADE_ENUM(name, at13, at14, at15, in13, in14, in15) MADE_##name,
    MADE_FIELDS(MADE_ENUM)
#undef MADE_ENUM
};

static const uint32_t made_fields[][2 * MADE_MINORS] = {
#define MADE_ROW(name, at13, at14, at15, in13, in14, in15) {at13, at14, at15, in13, in14, in15},
    MADE_FIELDS(MADE_ROW)
#undef MADE_ROW
};

/* Fills in the _Py_DebugOffsets of 3.`minor`, 13 to 15: MADE_TABLE bytes. */
static inline void made_table(unsigned minor, bool free_threaded, unsigned char *table)
{
    const uint64_t version = 3U << 24 | minor << 16 | 0xF0, ft = free_threaded;
    const unsigned column = minor - MADE_FIRST_MINOR;
    uint64_t value;
    size_t i;

    memset(table, 0, MADE_TABLE);
    memcpy(table, "xdebugpy", 8);
    memcpy(table + 8, &version, sizeof(version));
    memcpy(table + 16, &ft, sizeof(ft));
    for (i = 0; i < sizeof(made_fields) / sizeof(made_fields[0]); i++) {
        value = made_fields[i][MADE_MINORS + column];
        if (made_fields[i][column] != 0)
            memcpy(table + made_fields[i][column], &value, sizeof(value));
    }
}

#endif
