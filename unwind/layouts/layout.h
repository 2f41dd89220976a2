/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - layout of one CPython version's structures in memory, and how that version behaves.
 *
 * The folder unwind/layouts/ knows all that differs between CPython versions: offsets, behaviour,
 * line tables, opcodes. It reads no memory of a target, and no other folder compares versions.
 *
 * Shape:   a struct layout comes from a row of layouts.c (3.6 to 3.12), or is filled
 *          from the target's own _Py_DebugOffsets (3.13 and later). Either way
 *          layout_fits has checked it before anything uses it.
 */
#ifndef UNWIND_LAYOUTS_LAYOUT_H
#define UNWIND_LAYOUTS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "unwind/cpy.h"
#include "unwind/layouts/linetable.h"

#define NO_FIELD UINT32_MAX /* this version has no such field; 0 is a real offset */

/* What a frame is. */
enum layout_frames {
    FRAMES_OBJECT,     /* a PyFrameObject on the heap (3.6 to 3.10) */
    FRAMES_INTERPRETER /* a _PyInterpreterFrame, mostly in the thread's data stack */
};

/* How a complete chain of frames ends. */
enum layout_chain_end {
    END_NULL,      /* a frame with no previous: nothing more can be checked (3.6 to 3.10) */
    END_ENTRY,     /* a frame with is_entry set and no previous (3.11) */
    END_SHIM,      /* a frame of the shim kind with no previous (3.12 to 3.14) */
    END_BASE_FRAME /* the thread's base_frame, of a greenlet a shim with no previous (3.15) */
};

/* Where an instance of a class written in Python keeps its attributes. */
enum layout_attributes {
    ATTRIBUTES_DICT, /* a dict at tp_dictoffset, always (3.6 to 3.10) */
    ATTRIBUTES_3_11, /* values pointer 32 bytes before the object, dict pointer 24 before */
    ATTRIBUTES_3_12, /* one word 24 before: the values' address - 1, or the dict */
    ATTRIBUTES_3_13  /* dict pointer 24 before; else inline values after the object */
};

/* Format of a dict's keys object, named after the first version that has it. */
enum layout_keys { KEYS_3_6, KEYS_3_11 };

/* Offsets and sizes in bytes, named as CPython names the struct and the field. */
struct layout {
    uint8_t major, minor;
    bool free_threaded;
    struct {
        uint32_t interpreters_head, main_thread, finalizing, tstate_current, collecting;
    } runtime;
    struct {
        uint32_t size, next, id, threads_head, threads_main, modules, gil, code_generation,
            collecting, gc_frame;
        uint32_t marker;     /* as `modules`, or NO_FIELD: see layout_find_spans */
        uint32_t from, span; /* part that a sample reads: offset and size; see layout_find_spans */
    } interp;
    struct {
        uint32_t enabled, last_holder, locked, switch_number; /* enabled: of free-threaded builds */
    } gil;
    struct {
        uint32_t size, next, interp, current_frame, cframe, base_frame, status, gil_requested,
            thread_id, native_thread_id, datastack_chunk, current_exception, exc_info, exc_value,
            exc_previous;
        uint32_t recursion_remaining; /* an int; py_recursion_limit is the next one */
        uint32_t span;                /* bytes from 0 that a sample reads; see layout_find_spans */
    } thread; /* exc_value, exc_previous: in the item that exc_info points to; if exc_info is
                 NO_FIELD, in the thread */
    struct {
        uint32_t current_frame;
    } cframe;
    struct {
        uint32_t size, executable, previous, instr, owner, is_entry, tlbc_index, values, frame_obj;
    } frame; /* instr: in a PyFrameObject f_lasti, an int; values: localsplus, 0: it is at `size` */
    struct {
        uint32_t size, filename, qualname, linetable, firstlineno, firsttraceable, bytecode,
            co_code, tlbc, monitoring, version;
    } code; /* qualname: co_name before 3.11; co_code: a bytes object, before 3.11; monitoring: in
               3.12 only, see instr_in_caches; version: in 3.12 and 3.13 only, which have no
               interp.code_generation */
    struct {
        uint32_t lines, per_instruction_opcodes;
    } monitoring; /* pointers to the opcodes that instrumented opcodes have replaced */
    struct {
        uint32_t ob_type, ob_size;
    } object;
    struct {
        uint32_t tp_name, tp_flags, tp_basicsize, tp_dictoffset, ht_cached_keys;
    } type;
    struct {
        uint32_t length, state, ascii_data, compact_data;
        uint32_t kind_shift, compact, ascii; /* the bits of state */
    } unicode;
    struct {
        uint32_t ob_sval;
    } bytes;
    struct {
        uint32_t tag, digit;
    } integer; /* tag: ob_size (3.11) or lv_tag (3.12 and later) */
    struct {
        uint32_t ma_keys, ma_values, values_skip, managed;
    } dict; /* values_skip: bytes before the first value of a split dict; managed: bytes from
               the pointer to an object's managed dict to the object */

    /*
     * Of 3.14 and later, to read what asyncio tasks wait in; generator.size 0: not known. A
     * generator, coroutine or asynchronous generator contains its frame, at `iframe`.
     */
    struct {
        uint32_t size, iframe, frame_state;
        uint32_t stackpointer; /* in the frame */
        uint32_t awaited;      /* bytes below the stack pointer where the awaited object is */
        uint32_t held;         /* in a helper (KIND_HELPER): pointer to its generator */
        /* Values of frame_state. It awaits something from delegates_first to delegates_last. */
        int8_t cleared, executing, delegates_first, delegates_last;
    } generator;
    struct {
        uint32_t next, prev;
    } llist;
    struct {
        uint32_t size, used, mask, table;
    } set;
    /* From the target's AsyncioDebug table; task_size 0: that was not found. */
    struct {
        uint32_t task_size, name, awaited_by, is_task, awaited_by_is_set, coro, node;
        uint32_t interp_size, interp_tasks;
        uint32_t thread_size, running_loop, running_task, thread_tasks;
    } asyncio;

    uint8_t shim_owner;        /* least `owner` of a frame that is no Python frame */
    uint8_t generator_owner;   /* `owner` of a generator's frame */
    uint32_t status_bound;     /* bit of thread.status that must be set, 0: none */
    uint32_t status_cleared;   /* bit of thread.status that must not be set, 0: none */
    uint64_t tag_mask;         /* bits of frame.executable that are the address */
    bool integer_tag_is_count; /* integer.tag counts digits (3.6 to 3.11) */
    bool instr_in_caches;      /* frame.instr may point to an instruction's last inline cache */
    bool clears_frames;        /* a frame that has returned has no executable (3.14 and later) */
    bool with_keeps_pair; /* `with` keeps __exit__ and its object, not bound (3.14 and later) */
    bool lasti_in_bytes;  /* f_lasti counts bytes, not code units (3.6 to 3.9) */
    enum layout_frames frames;
    enum layout_chain_end chain_end;
    enum layout_attributes attributes;
    enum layout_keys keys;
    enum linetable_format lines;
};

enum { LAYOUT_DEBUG_OFFSETS_MAX = 1024 }; /* bytes of _Py_DebugOffsets that any version has */

/* The first 8 bytes of _PyRuntime from 3.13 on. */
#define LAYOUT_COOKIE "xdebugpy"

/*
 * The row of a version without debug offsets. Static; NULL: there is none. Only the major and
 * minor number of `hexversion` count.
 */
const struct layout *layout_of_version(uint32_t hexversion);

/*
 * Fills a layout from the first LAYOUT_DEBUG_OFFSETS_MAX bytes of _PyRuntime. Treats a version
 * after 3.15 as 3.15.
 *
 * Errors: CPY_FOREIGN: no cookie, a version before 3.13, or impossible offsets; `err` names which.
 */
MUST_CHECK enum cpy_rc layout_from_debug_offsets(const unsigned char *table, struct layout *out,
                                                 uint32_t *out_hexversion, struct err *err);

/*
 * True for final releases up to 3.15, whose layouts have been checked. cpy_open reads other
 * versions only if their frames make sense.
 */
bool layout_is_proven(uint32_t hexversion);

/* True if every field lies inside its structure and no structure is absurdly large; else `err`
 * names the field. */
MUST_CHECK bool layout_fits(const struct layout *layout, struct err *err);

enum { LAYOUT_SPAN_MAX = 2048 }; /* bytes */

/*
 * Sets interp.from, interp.span and thread.span to the parts that samples read, because the whole
 * structures reach over several pages. interp.span 0: its fields are over LAYOUT_SPAN_MAX bytes
 * apart, and are read one by one.
 *
 * Sets interp.marker to `modules` if the version counts or numbers code objects, else to NO_FIELD.
 * Counts restart in another runtime, which the dict of modules identifies.
 */
void layout_find_spans(struct layout *layout);

enum { LAYOUT_ASYNCIO_WORDS = 13 };

/*
 * Sets `asyncio` from the words of an AsyncioDebug table, and thread.size from its thread_size.
 * False, and nothing is changed: impossible offsets.
 */
MUST_CHECK bool layout_add_asyncio(struct layout *layout,
                                   const uint64_t words[LAYOUT_ASYNCIO_WORDS]);

/* Writes a version into `out`, cut to `size`: "3.14.0rc2" for 0x030e00c2. */
void layout_version_text(uint32_t hexversion, char *out, size_t size);

#endif
