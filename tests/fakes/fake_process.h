/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_process.h - builder of CPython processes in memory, for tests of what reads them.
 *
 * Shape:   fake_new or fake_of for memory alone; fake_process_make or fake_process_with_tasks for
 * an interpreter and a target that reads it. Then threads, frames, objects and tasks as the test
 *          likes; each fake_... that gives a cpy_addr has made something new there. The end is
 *          mem_close of the memory, or cpy_close of the target, which ends its memory, too.
 * Errors:  a function that cannot do what it says fails the test (cmocka).
 * Threads: a fake belongs to one thread.
 * Source:  a struct layout says where fields lie. fake_layout's come from the product, those of
 *          fake_layout_free_threaded do not.
 */
#ifndef TESTS_FAKES_FAKE_PROCESS_H
#define TESTS_FAKES_FAKE_PROCESS_H

#include "unwind/objects/object.h"
#include "unwind/target.h"

enum { FAKE_SIZE = 2 << 20, FAKE_CHUNKS = 4096 };
#define FAKE_BASE UINT64_C(0x7f0000000000)
#define NOWHERE   UINT64_C(0x123456789000) /* an address where nothing is mapped */

/* Memory of a process. */
struct fake {
    struct mem mem; /* first: read finds the rest by it */
    struct layout layout;
    struct reader reader;
    size_t used;
    cpy_addr hole, hole_end;           /* a read that touches it fails */
    uint64_t change_at;                /* before this read (1 is the first) ... */
    void (*change)(struct fake *fake); /* ... this is called */
    size_t chunk_count;                /* of data stacks that fake_frame began */
    cpy_addr chunks[FAKE_CHUNKS], chunk_ends[FAKE_CHUNKS];
    unsigned char bytes[FAKE_SIZE];
};

/* The layout of CPython 3.`minor`: a row, or what a golden image's own table says. */
struct layout fake_layout(unsigned minor);

/*
 * The layout of 3.`minor` (13 to 15) without the GIL, as far as this builder needs it. No package
 * has such an interpreter, so no image of one can be taken: the numbers are printed from its
 * headers.
 */
struct layout fake_layout_free_threaded(unsigned minor);

enum { FAKE_FIRST_MINOR = 13, FAKE_MINORS = 3, FAKE_DEBUG_OFFSETS = 1024 };

/* Fills in the FAKE_DEBUG_OFFSETS bytes of _Py_DebugOffsets of 3.`minor` (13 to 15). Needs no
 * cmocka. */
void fake_debug_offsets(unsigned minor, bool free_threaded, unsigned char *table);

/* Memory of zeros, in which things are laid out like that; NULL: a layout of zeros. */
struct fake *fake_new(const struct layout *layout);

/* The same by the layout of 3.`minor`. */
struct fake *fake_of(unsigned minor);

/* `size` bytes of zeros. */
cpy_addr fake_room(struct fake *fake, size_t size);

void fake_put(struct fake *fake, cpy_addr at, const void *bytes, size_t size);
void fake_put64(struct fake *fake, cpy_addr at, uint64_t value);
void fake_put32(struct fake *fake, cpy_addr at, uint32_t value);
void fake_put8(struct fake *fake, cpy_addr at, uint8_t value);
uint64_t fake_get64(const struct fake *fake, cpy_addr at);

/* PyTypeObject.tp_flags */
enum {
    TYPE_INLINE_VALUES = 1 << 2,
    TYPE_MANAGED_DICT = 1 << 4,
    TYPE_HEAP = 1 << 9,
    TYPE_INT = 1 << 24,
    TYPE_STR = 1 << 28
};
enum { TYPE_BASICSIZE = 32 }; /* of fake_class */

enum { FAKE_COMPACT = 1 << 3, FAKE_ASCII = 1 << 4 }; /* of PyASCIIObject.state, above `kind` */

/* A str of `length` characters of `kind` bytes. */
cpy_addr fake_str_of(struct fake *fake, uint32_t kind, bool ascii, const void *chars,
                     size_t length);
cpy_addr fake_str(struct fake *fake, const char *text);
cpy_addr fake_bytes(struct fake *fake, const void *bytes, size_t size); /* NULL: zeros */

/* An int of less than 60 bits. */
cpy_addr fake_int(struct fake *fake, uint64_t value);

/* A type object of the given tp_name and tp_flags. */
cpy_addr fake_type(struct fake *fake, const char *name, uint64_t flags);

/* An object of a type with one word after its head. */
cpy_addr fake_object(struct fake *fake, cpy_addr type, uint64_t word);

/* A class whose instances keep their attributes as `flags` and `dictoffset` say. */
cpy_addr fake_class(struct fake *fake, uint64_t flags, int64_t dictoffset, cpy_addr cached_keys);

/* An instance with room before it and 16 values after it. */
cpy_addr fake_instance(struct fake *fake, cpy_addr type);

/* PyDictKeysObject */
enum {
    KEYS_LOG2_SIZE = 8,
    KEYS_LOG2_INDEX_BYTES = 9,
    KEYS_NENTRIES = 24,
    KEYS_GENERAL = 0,
    KEYS_UNICODE = 1,
    KEYS_SPLIT = 2
};

/* A key and its value; 0 and 0: a hole. */
struct fake_item {
    cpy_addr key, value;
};

/* The keys of a dict; those of a split one hold no values. */
cpy_addr fake_keys(struct fake *fake, uint8_t kind, const struct fake_item *items, size_t count);

/* The values of a split dict, behind the header that the version has. */
cpy_addr fake_values(struct fake *fake, const struct fake_item *items, size_t count);
cpy_addr fake_dict(struct fake *fake, uint8_t kind, const struct fake_item *items, size_t count);

/* An int key and its value; 0: the entry was deleted. */
struct fake_int_item {
    uint64_t key;
    cpy_addr value;
};

/* A dict with a hash table, in the form that the version has. */
cpy_addr fake_int_dict(struct fake *fake, const struct fake_int_item *items, size_t count);

/* A code object of /srv/app.py. */
struct fake_code {
    cpy_addr type;
    cpy_addr qualname; /* 0: `func` says it */
    const char *func;
    uint32_t units, first_line, first_traceable;
    const void *table; /* the line table */
    size_t table_size;
    uint32_t version; /* 3.12 and 3.13 */
};

/* Writes a code object over whatever is at `at`. */
void fake_put_code(struct fake *fake, cpy_addr at, const struct fake_code *code);
cpy_addr fake_code(struct fake *fake, const struct fake_code *code);

/* _PyInterpreterFrame.owner */
enum { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_SHIM = 3 };
#define FAKE_CODE UINT64_C(0x7e0000001000) /* code of frames that are not decoded */

/* What a frame says. */
struct fake_frame {
    cpy_addr code, previous;
    int64_t unit;
    uint8_t owner;
    bool is_entry; /* 3.11 */
};

void fake_put_frame(struct fake *fake, cpy_addr at, const struct fake_frame *frame);

/* A frame of its own memory, called by `previous`. */
cpy_addr fake_frame(struct fake *fake, cpy_addr code, int64_t unit, cpy_addr previous);

/* A frame that stands for C code. */
cpy_addr fake_shim(struct fake *fake, cpy_addr previous);

enum { FAKE_BOUND = 1 << 1 }; /* in the status of a thread state that runs */

/* A thread state; where its current frame is kept is made, too. */
cpy_addr fake_thread(struct fake *fake, cpy_addr current_frame);
/* 3.11, 3.12: where the record is that names the current frame while there is none. */
cpy_addr fake_own_cframe(const struct fake *fake, cpy_addr thread);
void fake_put_stack(struct fake *fake, cpy_addr thread, cpy_addr current_frame);
void fake_set_data_stack(struct fake *fake, cpy_addr thread, cpy_addr chunk, cpy_addr top);

/* Walks the stack of a thread state, after `before` (NULL: nothing). */
enum cpy_rc fake_walk(struct fake *fake, cpy_addr thread, const struct raw_before *before,
                      struct raw_stack *out);

enum { FAKE_EXECUTING_15 = 4 }; /* the frame_state of a generator that runs, in 3.15 */

/* What an AsyncioDebug table of a layout may say, and memory of a layout with that. */
void fake_asyncio_words(const struct layout *layout, uint64_t words[LAYOUT_ASYNCIO_WORDS]);
struct fake *fake_of_tasks(unsigned minor);

/* A suspended generator at unit `unit` of `code` that awaits `awaited` (0: nothing). */
cpy_addr fake_generator(struct fake *fake, cpy_addr type, cpy_addr code, int64_t unit,
                        cpy_addr awaited);

/* An empty ring, and a node at its end. */
void fake_ring_init(struct fake *fake, cpy_addr head);
void fake_ring_add(struct fake *fake, cpy_addr head, cpy_addr node);

/* A task or (is_task false) a future that `waiter` (0: nobody) waits for. */
cpy_addr fake_task(struct fake *fake, bool is_task, cpy_addr waiter);

/* A set with room for `slots` entries, and an entry of it. */
cpy_addr fake_set(struct fake *fake, size_t slots);
void fake_set_put(struct fake *fake, cpy_addr set, size_t slot, cpy_addr member, int64_t hash);

enum {
    FAKE_UNITS = 50,
    FAKE_FIRST_TRACEABLE = 2,
    FAKE_SEEN_MAX = 4096,
    FAKE_TID = 100,
    FAKE_THREADS = 3
};

/* A process with one interpreter, the target that reads it, and what that gave last. */
struct fake_process {
    struct fake *fake;
    struct cpy_target *target;
    cpy_addr runtime, interp, gil, code_type;
    uint64_t threads;  /* made so far; the first has tid FAKE_TID, the next FAKE_TID + 1 ... */
    uint64_t switches; /* of the GIL */

    /* What the last fake_sample gave. */
    size_t count;
    struct cpy_thread *seen;           /* owned: FAKE_SEEN_MAX; NULL: not of a fixture */
    const struct cpy_code **innermost; /* owned: likewise */
    const char *opcode;                /* of the last thread's innermost frame */

    cpy_addr
        states[FAKE_THREADS]; /* fake_make_threads: in the order of samples, the newest first */

    /* fake_process_with_tasks: a thread that may run tasks, and types. */
    cpy_addr thread, coroutine, str, integer, code;
};

/* Without threads, by the layout of 3.`minor`. */
struct fake_process fake_process_make(unsigned minor);

/* The same as a fixture of CPython 3.12, and its end. */
int fake_process_set_up(void **state);
int fake_process_tear_down(void **state);

/* A function whose units are on line 10. */
cpy_addr fake_function(struct fake_process *p, const char *func);

/* A stack of one function at a unit. */
cpy_addr fake_stack(struct fake_process *p, const char *func, int64_t unit);

/* A thread with this current frame, at the head of the interpreter's list. */
cpy_addr fake_add_thread(struct fake_process *p, cpy_addr current_frame);

/* A thread takes the GIL; 0: whoever has it gives it up. */
void fake_hold_gil(struct fake_process *p, cpy_addr thread);

enum cpy_rc fake_sample(struct fake_process *p);

/* The innermost functions of the last sample, as "old new old ". Lends until the next call. */
const char *fake_functions(const struct fake_process *p);

enum { FAKE_LIST_LOOKS = 64 }; /* GIL-skip samples until the interpreters are listed again */

/* Three threads, of which the last holds the GIL; two samples, the second is a GIL-skip sample. */
void fake_make_threads(struct fake_process *p);

/* They all go somewhere else, as only those can that hold the GIL for a while. */
void fake_move_threads(struct fake_process *p, const char *func);

uint64_t fake_gil_skips(const struct fake_process *p);

/* A sample that reads all threads, and soon (once no name is looked for) one that does not. */
void fake_assert_full_once(struct fake_process *p);
void fake_assert_never_gil_skip(struct fake_process *p);

/* CPython 3.15 with one thread and asyncio, which has no tasks yet. */
struct fake_process fake_process_with_tasks(void);

/* A function of one unit on line 7. */
cpy_addr fake_coroutine_code(struct fake_process *p, const char *func);

/* Where the thread's tasks are listed. */
cpy_addr fake_thread_ring(const struct fake_process *p);

/* A task that waits at unit 1 of the process's code. */
cpy_addr fake_put_task(struct fake_process *p, cpy_addr ring, cpy_addr name, cpy_addr waiter);

/* A str and an int that have their types. */
cpy_addr fake_name(struct fake_process *p, const char *text);
cpy_addr fake_number(struct fake_process *p, uint32_t number);

/* The thread runs `task`: its coroutine's frame is called by a shim, and calls another. */
void fake_run_task(struct fake_process *p, cpy_addr task);

/* What fake_tell_task was given, as text. */
struct fake_tasks_text {
    char text[4096];
    size_t count;
};

/* For cpy_tasks and the like, with a struct fake_tasks_text. */
void fake_tell_task(void *ctx, const struct cpy_task *task);

#endif
