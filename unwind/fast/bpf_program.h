/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_program.h - layout of the memory that bpf_reader.c shares with its BPF program,
 * bpf_reader.bpf.c.
 *
 * The kernel runs the program in an interrupt of the thread that is sampled, the target thread. The
 * program copies the ranges of memory that the request names; then it follows the Python stack of
 * the target thread and copies the parts of the stack that the request does not contain.
 *
 * The shared memory is one struct bpf_reader_area, the only element of a BPF array. bpf_reader.c
 * writes the request into the area, the program writes the answer.
 */
#ifndef UNWIND_FAST_BPF_PROGRAM_H
#define UNWIND_FAST_BPF_PROGRAM_H

#include <stdint.h>

/* Placeholder in the program's instructions that load the address of the area. bpf_reader.c
 * replaces it before it gives the program to the kernel. */
#define BPF_READER_AREA_ADDRESS 0x6f6e7369

/* Value of an offset in struct bpf_reader_chain: this CPython version has no such field. */
#define BPF_READER_NO_FIELD UINT32_MAX

/* Limits: the greatest number or size of each. */
enum {
    BPF_READER_RANGES = 128, /* ranges of a request */
    BPF_READER_FOUND = 256,  /* ranges of the stack that the program copies in addition */
    BPF_READER_CHUNKS = 4,   /* data stack chunks that the program follows, the newest first */
    BPF_READER_FRAMES = 192, /* frames that the program follows, the innermost first; the copy
                                of a deeper stack lacks the outer ones */
    BPF_READER_STEP = 8,     /* ranges or frames that one function call in the program handles */
    BPF_READER_SEARCHED = 4, /* ranges of a request that the program searches, the first ones,
                                to see whether bytes of the stack are among them */
    BPF_READER_PIECE = 16 << 10, /* bytes of one range; bpf_reader.c cuts longer ones */
    BPF_READER_BYTES = 128 << 10 /* bytes of all copies together */
};

/* Return values of the program. */
enum bpf_reader_outcome {
    BPF_READER_COPIED, /* all requested ranges are copied, and as much of the stack as possible */
    BPF_READER_ELSEWHERE, /* another thread than `tid` runs on this CPU: nothing is copied */
    BPF_READER_FAULT      /* a requested range cannot be read: the answer is not valid */
};

/* A range of the target's memory, and the place of its copy. bpf_reader.c sets all fields of the
 * requested ranges, the program those of the ranges that it adds. */
struct bpf_reader_range {
    uint64_t from; /* address in the target */
    uint32_t size; /* bytes */
    uint32_t at;   /* offset of the copy in bpf_reader_area.bytes */
};

/* Where one CPython version keeps the stack of a thread. Offsets and sizes are in bytes. */
struct bpf_reader_chain {
    /* Offset in PyThreadState of the pointer to the newest data stack chunk. The next word in
     * PyThreadState points to the end of the chunk's used part. BPF_READER_NO_FIELD before 3.11:
     * there is no data stack, each frame is an object. */
    uint32_t datastack_chunk;
    /* Offset in PyThreadState of the pointer to the _PyCFrame record. BPF_READER_NO_FIELD: the
     * version has no such record. */
    uint32_t cframe;
    /* Offset of the pointer to the innermost frame: in the _PyCFrame record or, if there is no such
     * record, in PyThreadState. */
    uint32_t current_frame;
    uint32_t previous;   /* offset in a frame of the pointer to the caller's frame */
    uint32_t frame_from; /* offset in a frame where the part to copy begins */
    uint32_t frame_size; /* size of the part to copy */
};

/* "Request": bpf_reader.c sets the field. "Answer": the program does, with BPF_READER_COPIED. */
struct bpf_reader_area {
    uint32_t tid;     /* request: id of the target thread, in the first pid namespace */
    uint32_t count;   /* request: entries used in `ranges` */
    uint64_t took_ns; /* answer: how long the program ran, and thereby held up the target thread */
    uint64_t thread;  /* request: address of the PyThreadState whose stack to copy; 0: no stack */
    struct bpf_reader_chain chain; /* request: not used if `thread` is 0 */
    uint32_t used;        /* request: bytes taken by the copies of `ranges`, rounded up to 8;
                             answer: also by those of `found` */
    uint32_t found_count; /* answer: entries used in `found`. If it is over BPF_READER_FOUND,
                             or `used` over BPF_READER_BYTES, the answer is not valid */
    struct bpf_reader_range ranges[BPF_READER_RANGES]; /* request */
    /* Answer: the ranges of the stack that the program has copied. Request: bpf_reader.c sets the
     * first BPF_READER_CHUNKS to 0, because the program searches them in any case. */
    struct bpf_reader_range found[BPF_READER_FOUND];
    /* Answer: the copies. The last BPF_READER_PIECE bytes stay unused; the kernel's verifier
     * demands them, because it adds the greatest offset and the greatest size. */
    unsigned char bytes[BPF_READER_BYTES + BPF_READER_PIECE];
};

#endif
