/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - reads one thread's chain of frames, whole or not at all.
 *
 * The folder unwind/stack/ knows how the frames of a thread or of a coroutine are linked, and
 * whether what was read is consistent. It knows neither names nor lines of code objects, nor which
 * threads there are.
 *
 * From 3.11 on a thread's frames are in its data stack (a list of chunks), except generators'
 * frames (in the generator objects) and entry frames (on the C stack). The chunks are copied, or
 * were fetched beforehand (prefetch.h), and the chain is walked in the copy. A walk is good only if
 * the chain ends as chains of this version do, and the pointer to the current frame, read after all
 * frames, is still the same. The current frame and its caller must also be unchanged since they
 * were copied, because the thread may have left the frame and called it again. This check is not
 * needed if the thread state was fetched after the frames and the version marks frames that have
 * returned (3.14 and later: see check_still).
 *
 * Greenlets have data stacks of their own, but share the thread and its C stack. So a chain is good
 * only if all its data stack frames are in the data stack that the thread state names, down to the
 * first frame there: else it has frames of two greenlets, or is cut short. Only in these four cases
 * may a chain end otherwise, or be in another data stack:
 *
 * - 3.12 to 3.15: greenlet takes the entry frames out of a greenlet's chain before it switches to
 *   another one, and puts them back when it switches back. The chain then ends in a plain frame
 *   with previous = 0. That is the first one in the data stack, and its frame object names it.
 *   (Marks of C code between the frames are missing then.)
 * - 3.12: when greenlet has switched, it first makes the new greenlet's current frame the thread's,
 *   then puts the entry frames back, and sets the thread's data stack last. Until then the whole
 *   chain is in a data stack that the thread does not name (walk_incoming). All its plain frames
 *   must be in one chunk, whose head says that it is the first of a data stack, and must go down
 *   to the first frame there. A greenlet with frames in more than one chunk is refused meanwhile.
 * - 3.15: only the thread's first greenlet reaches base_frame. The chain of any other ends in an
 *   entry frame with previous = 0, below the first frame in the data stack.
 * - Functions that were compiled by Nuitka link their frames without entry frames. The outermost
 *   frame of such a chain has a generator as its owner, lies in its own frame object, and still
 *   has previous = 0 when it is read again. A frame that is alone is read four more times, because
 *   a function that is called again and again may not be linked yet.
 *
 * A greenlet that begins or ends has no frame while its data stack is mapped or unmapped (3.11 and
 * later): then the stack is empty. In 3.11 and 3.12 the record that has the current frame
 * (_PyCFrame) is on the C stack, which greenlet overwrites when it switches. So "no current frame"
 * counts only in the thread state's own record and in one whose previous record that is, and only
 * if a second read gives the same.
 *
 * 3.11 and 3.12 publish the record of a new call into the interpreter before they fill it: until
 * then it has the contents of an earlier call. So the frame below the newest call must be the one
 * that was current when that call began.
 *
 * The part that a stack has in common with the previous one of the thread is compared, not decoded
 * again. In versions that count a thread's Python frames (3.14 and later), entry frames need not be
 * read. Plain Python frames are in the data stack in the order of their calls. If there are as many
 * as the thread counts, no generator's frame is between them, and each called the next one.
 *
 * Before 3.11 frames are objects on the heap, linked one by one. Such a walk is good only if all of
 * them, read a second time in one call, are the same.
 */
#ifndef UNWIND_STACK_WALK_H
#define UNWIND_STACK_WALK_H

#include "unwind/fast/bpf_program.h"
#include "unwind/objects/object.h"

/* What an entry of a raw stack is. */
enum raw_kind {
    RAW_FRAME,     /* a frame; resolve skips it while its arguments are not in place */
    RAW_GENERATOR, /* a generator's frame: never skipped */
    RAW_NATIVE,    /* C code between two frames */
    RAW_GC         /* garbage collection */
};

/* A frame before its code object is known. */
struct raw_frame {
    cpy_addr code; /* address of the code object; 0: it is no frame */
    int32_t unit;  /* code unit of its instruction; -1: not started */
    enum raw_kind kind;
    cpy_addr addr;     /* of the frame */
    cpy_addr previous; /* address of the frame, of Python or not, that called it */
};

/* Entries to add to the Python frames. */
struct walk_marks {
    bool native;       /* RAW_NATIVE */
    bool gc;           /* RAW_GC, because the thread collects garbage */
    cpy_addr gc_frame; /* RAW_GC goes above this frame; 0: to the top of the stack */
};

/* Why a walk was torn. */
enum walk_tear {
    TEAR_MOVED,   /* the thread ran meanwhile */
    TEAR_CHAIN,   /* the chain of frames is not consistent */
    TEAR_CODE,    /* a frame has no code object, or its instruction is not in it */
    TEAR_UNMAPPED /* memory that a pointer leads to is not mapped */
};

struct raw_stack {
    enum walk_tear tear; /* valid if the walk gave CPY_RACED */
    uint32_t depth;      /* entries used in `frames` */
    uint32_t same;       /* frames below these: the outermost `same` ones of raw_before */
    bool cut;            /* deeper than CPY_DEPTH_MAX */
    struct raw_frame frames[CPY_DEPTH_MAX]; /* [0] is the innermost */
};

/* The stack that a thread had before, the innermost frame first. */
struct raw_before {
    const struct raw_frame *frames; /* borrowed */
    uint32_t depth;                 /* 0: it is not known */
};

/* The words of a thread state that a walk and its caller need. */
struct thread_words {
    cpy_addr addr, next, interp, base_frame, datastack_chunk, datastack_top;
    cpy_addr cframe;      /* 3.11, 3.12: address of the record that has current_frame; else 0 */
    cpy_addr outer_frame; /* 3.11, 3.12: current frame in the record before `cframe` */
    bool has_outer;       /* there is such a record */
    cpy_addr current_frame;
    uint64_t thread_id, native_thread_id;
    cpy_addr running_task; /* of asyncio; 0: none, or asyncio is not known */
    uint32_t status;
    int64_t recursion; /* the thread's own count of its Python frames; -1: the version has none */
    bool gil_requested;
    cpy_addr current_exception, exc_info, exc_value;
};

/* Memory for the copies of a data stack; one for each target, or shared by many. */
struct walk_scratch;

MUST_CHECK struct walk_scratch *walk_scratch_new(void);
void walk_scratch_free(struct walk_scratch *scratch);

/* The offsets by which bpf_reader_read follows stacks of this version. */
struct bpf_reader_chain walk_chain_of(const struct layout *layout);

/* Reads the thread state at `addr`. Errors: as mem_read. */
MUST_CHECK enum cpy_rc walk_read_thread(const struct reader *reader, cpy_addr addr,
                                        struct thread_words *out);

/*
 * Decodes a frame from its bytes. Sets `addr` and `previous` to 0. code 0: it is being torn down,
 * or of C code. Errors: CPY_RACED: that is no frame; those of mem_read.
 */
MUST_CHECK enum cpy_rc walk_take_frame(const struct reader *reader, const unsigned char *bytes,
                                       struct raw_frame *out);

/*
 * Reads the chain of frames of `thread`. `before`: its stack in an earlier sample, which was not
 * cut; depth 0: none. After the frames, reads *generation from `generation_at`, unless that is 0.
 *
 * Errors: CPY_RACED (torn: try again from walk_read_thread), CPY_GONE, CPY_DENIED, CPY_NOMEM.
 */
MUST_CHECK enum cpy_rc walk_stack(const struct reader *reader, struct walk_scratch *scratch,
                                  const struct thread_words *thread, const struct walk_marks *marks,
                                  const struct raw_before *before, cpy_addr generation_at,
                                  struct raw_stack *out, uint64_t *generation);

#endif
