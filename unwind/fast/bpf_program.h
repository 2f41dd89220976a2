/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_program.h - memory that bpf_reader.c shares with its BPF program (bpf_reader.bpf.c).
 *
 * One struct bpf_reader_area, the only element of a BPF array that both have mapped. bpf_reader.c
 * writes the request into it, the program writes the answer.
 */
#ifndef UNWIND_FAST_BPF_PROGRAM_H
#define UNWIND_FAST_BPF_PROGRAM_H

#include <stdint.h>

#define BPF_READER_HERE 0x6f6e7369 /* in the program's code: replaced by the area's address */
#define BPF_READER_NONE UINT32_MAX /* the version has no such field */

enum {
    BPF_READER_RANGES = 128,     /* ranges of one request */
    BPF_READER_FOUND = 256,      /* ranges that the program adds */
    BPF_READER_CHUNKS = 4,       /* chunks of a data stack that it follows */
    BPF_READER_FRAMES = 192,     /* frames that it follows */
    BPF_READER_STEP = 8,         /* ranges or frames that one of its functions takes a call */
    BPF_READER_LOOKED = 4,       /* first ranges of a request in which it looks for a frame */
    BPF_READER_PIECE = 16 << 10, /* bytes of a range */
    BPF_READER_BYTES = 128 << 10 /* bytes of all ranges together */
};

/* Return values of the program. */
enum bpf_reader_outcome {
    BPF_READER_COPIED,
    BPF_READER_ELSEWHERE, /* another thread runs on this CPU */
    BPF_READER_FAULT      /* a range cannot be read */
};

struct bpf_reader_range {
    uint64_t from;     /* address in the target */
    uint32_t size, at; /* bytes; offset of the copy in `bytes` */
};

/* Where a version of CPython keeps the stack of a thread: offsets and sizes in bytes. */
struct bpf_reader_chain {
    uint32_t datastack_chunk; /* of the thread; its next word is the top; BPF_READER_NONE: there is
                                 no data stack (before 3.11), each frame is an object */
    uint32_t cframe;          /* of the thread: address of the record that has current_frame;
                                 BPF_READER_NONE: the thread itself has it */
    uint32_t current_frame;
    uint32_t previous;               /* of a frame */
    uint32_t frame_from, frame_size; /* of a frame: the part that is copied */
};

struct bpf_reader_area {
    uint32_t tid;     /* request: the thread that must run on this CPU */
    uint32_t count;   /* request: ranges in `ranges` */
    uint64_t took_ns; /* answer: time for which the program interrupted the thread */
    uint64_t thread;  /* request: PyThreadState whose stack is followed; 0: only `ranges` */
    struct bpf_reader_chain chain;
    uint32_t used;        /* bytes of `bytes` in use */
    uint32_t found_count; /* answer: ranges in `found` */
    struct bpf_reader_range ranges[BPF_READER_RANGES], found[BPF_READER_FOUND];
    unsigned char bytes[BPF_READER_BYTES + BPF_READER_PIECE]; /* the last piece: because the
                                                                 verifier adds up maximums */
};

#endif
