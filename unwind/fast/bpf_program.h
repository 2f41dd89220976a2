/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_program.h - what bpf_reader.c and the program that the kernel runs for it share.
 *
 * An array of one element, which is mapped: in it is what is asked for, and what was read.
 */
#ifndef UNWIND_FAST_BPF_PROGRAM_H
#define UNWIND_FAST_BPF_PROGRAM_H

#include <stdint.h>

#define BPF_READER_HERE 0x6f6e7369 /* stands in the program for the address of the area */
#define BPF_READER_NONE UINT32_MAX /* a field that there is not */

enum {
    BPF_READER_RANGES = 128,     /* of one call, at most */
    BPF_READER_FOUND = 256,      /* ranges that nobody asked for */
    BPF_READER_CHUNKS = 4,       /* of a data stack, that are followed */
    BPF_READER_FRAMES = 192,     /* the same */
    BPF_READER_STEP = 8,         /* of ranges and of frames that one function takes */
    BPF_READER_LOOKED = 4,       /* of the ranges: where a frame may be already */
    BPF_READER_PIECE = 16 << 10, /* bytes of a range */
    BPF_READER_BYTES = 128 << 10 /* of all */
};

/* What the program returns. */
enum bpf_reader_outcome { BPF_READER_COPIED, BPF_READER_ELSEWHERE, BPF_READER_FAULT };

struct bpf_reader_range {
    uint64_t from;
    uint32_t size, at; /* at: in `bytes` */
};

/* Where a version keeps the stack of a thread; offsets and sizes in bytes. */
struct bpf_reader_chain {
    uint32_t datastack_chunk; /* of the thread; the top is the next word; BPF_READER_NONE: there is
                                 no data stack (before 3.11), so frames are not in one piece */
    uint32_t cframe; /* of the thread: where current_frame is; BPF_READER_NONE: in the thread */
    uint32_t current_frame;
    uint32_t previous;               /* of a frame */
    uint32_t frame_from, frame_size; /* of a frame: what is needed of it */
};

struct bpf_reader_area {
    uint32_t tid;     /* the thread that must have been interrupted */
    uint32_t count;   /* of `ranges` */
    uint64_t took_ns; /* from the program's begin to its end: the thread stood still for it */
    uint64_t thread;  /* its PyThreadState: what its stack is in is read, too; 0: only `ranges` */
    struct bpf_reader_chain chain;
    uint32_t used;        /* of `bytes` */
    uint32_t found_count; /* of `found` */
    struct bpf_reader_range ranges[BPF_READER_RANGES], found[BPF_READER_FOUND];
    unsigned char
        bytes[BPF_READER_BYTES + BPF_READER_PIECE]; /* the verifier adds up the most of each */
};

#endif
