/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_reader.c - see bpf_reader.h. */
#include "unwind/fast/bpf_reader.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capability.h"

#define FIRST_PID_NAMESPACE UINT64_C(0xEFFFFFFC) /* PROC_PID_INIT_INO */

struct bpf_reader {
    struct bpf_reader_area *area;     /* owned: mapped */
    int map_fd, types_fd, program_fd; /* owned; -1: not there */
    bool refused;
    uint64_t count; /* times it was asked to read */
};

static int bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Checked before the calls that need it: some seccomp filters kill a process that makes them. */
static bool has_rights(void)
{
    return capability_has(CAP_SYS_ADMIN) ||
           (capability_has(CAP_PERFMON) && capability_has(CAP_BPF));
}

/* The program compares thread ids of the first pid namespace. */
static bool sees_own_numbers(void)
{
    struct stat st = {0};

    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

static bool map_area(struct bpf_reader *bpf_reader)
{
    union bpf_attr attr = {0};
    void *area;

    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = sizeof(struct bpf_reader_area);
    attr.max_entries = 1;
    attr.map_flags = BPF_F_MMAPABLE;
    bpf_reader->map_fd = bpf(BPF_MAP_CREATE, &attr);
    if (bpf_reader->map_fd < 0)
        return false;
    area = mmap(NULL, sizeof(struct bpf_reader_area), PROT_READ | PROT_WRITE, MAP_SHARED,
                bpf_reader->map_fd, 0);
    bpf_reader->area = area == MAP_FAILED ? NULL : area;
    return bpf_reader->area != NULL;
}

/* bpf_reader_code, and BPF_READER_AT_* of each function: index of its first instruction. */
#include "unwind/fast/bpf_reader.bpf.inc"

/*
 * Types of the program's functions for the kernel: they are global, and take only numbers. So the
 * verifier follows each function once, not once for each call: 1.5 ms instead of 34. Numbered in
 * the order of struct types.
 */
enum type_id {
    TYPE_NUMBER = 1,
    TYPE_OF_NONE,
    TYPE_OF_ONE,
    TYPE_OF_TWO,
    TYPE_PROGRAM,
    TYPE_COPY,
    TYPE_FIND,
    TYPE_FOLLOW
};

struct type_names {
    char none[1], number[4], from[5], size[5], program[8], copy[5], find[5], follow[7];
};

struct types {
    struct btf_header head;
    struct {
        struct btf_type type;
        uint32_t bits;
    } number;
    struct btf_type of_none;
    struct {
        struct btf_type type;
        struct btf_param from;
    } of_one;
    struct {
        struct btf_type type;
        struct btf_param from, size;
    } of_two;
    struct btf_type program, copy, find, follow;
    struct type_names names;
};

#define NAME(NAME)        offsetof(struct type_names, NAME)
#define INFO(KIND, COUNT) ((uint32_t)(KIND) << 24 | (COUNT))

static const struct types types = {
    .head = {.magic = BTF_MAGIC,
             .version = BTF_VERSION,
             .hdr_len = sizeof(struct btf_header),
             .type_len = offsetof(struct types, names) - sizeof(struct btf_header),
             .str_off = offsetof(struct types, names) - sizeof(struct btf_header),
             .str_len = sizeof(struct types) - offsetof(struct types, names)},
    .number = {{NAME(number), INFO(BTF_KIND_INT, 0), {sizeof(uint64_t)}}, 64},
    .of_none = {0, INFO(BTF_KIND_FUNC_PROTO, 0), {TYPE_NUMBER}},
    .of_one = {{0, INFO(BTF_KIND_FUNC_PROTO, 1), {TYPE_NUMBER}}, {NAME(from), TYPE_NUMBER}},
    .of_two = {{0, INFO(BTF_KIND_FUNC_PROTO, 2), {TYPE_NUMBER}},
               {NAME(from), TYPE_NUMBER},
               {NAME(size), TYPE_NUMBER}},
    .program = {NAME(program), INFO(BTF_KIND_FUNC, BTF_FUNC_GLOBAL), {TYPE_OF_NONE}},
    .copy = {NAME(copy), INFO(BTF_KIND_FUNC, BTF_FUNC_GLOBAL), {TYPE_OF_ONE}},
    .find = {NAME(find), INFO(BTF_KIND_FUNC, BTF_FUNC_GLOBAL), {TYPE_OF_TWO}},
    .follow = {NAME(follow), INFO(BTF_KIND_FUNC, BTF_FUNC_GLOBAL), {TYPE_OF_ONE}},
    .names = {"", "u64", "from", "size", "program", "copy", "find", "follow"},
};

/* In the order of the code. */
static const struct bpf_func_info functions[] = {{BPF_READER_AT_bpf_reader_program, TYPE_PROGRAM},
                                                 {BPF_READER_AT_copy_next_ranges, TYPE_COPY},
                                                 {BPF_READER_AT_copy_missing_bytes, TYPE_FIND},
                                                 {BPF_READER_AT_copy_next_frames, TYPE_FOLLOW}};

static bool load_types(struct bpf_reader *bpf_reader)
{
    union bpf_attr attr = {0};

    attr.btf = (uintptr_t)&types;
    attr.btf_size = sizeof(types);
    bpf_reader->types_fd = bpf(BPF_BTF_LOAD, &attr);
    return bpf_reader->types_fd >= 0;
}

static bool load_bpf_program(struct bpf_reader *bpf_reader)
{
    struct bpf_insn program[sizeof(bpf_reader_code) / sizeof(struct bpf_insn)];
    union bpf_attr attr = {0};

    memcpy(program, bpf_reader_code, sizeof(program));
    for (size_t i = 0; i < sizeof(program) / sizeof(program[0]); i++)
        if (program[i].code == (BPF_LD | BPF_DW | BPF_IMM) &&
            program[i].imm == BPF_READER_AREA_ADDRESS) {
            program[i].src_reg = BPF_PSEUDO_MAP_VALUE;
            program[i].imm = bpf_reader->map_fd;
        }
    attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    attr.insns = (uintptr_t)program;
    attr.insn_cnt = sizeof(program) / sizeof(program[0]);
    attr.license = (uintptr_t) "GPL";
    attr.prog_btf_fd = (uint32_t)bpf_reader->types_fd;
    attr.func_info = (uintptr_t)functions;
    attr.func_info_rec_size = sizeof(functions[0]);
    attr.func_info_cnt = sizeof(functions) / sizeof(functions[0]);
    (void)memcpy(attr.prog_name, "pystrobe", sizeof("pystrobe"));
    bpf_reader->program_fd = bpf(BPF_PROG_LOAD, &attr);
    return bpf_reader->program_fd >= 0;
}

struct bpf_reader *bpf_reader_new(void)
{
    struct bpf_reader *bpf_reader;
    int cause;

    errno = !has_rights() ? EPERM : !sees_own_numbers() ? EOPNOTSUPP : 0;
    bpf_reader = errno == 0 ? calloc(1, sizeof(*bpf_reader)) : NULL;
    if (!bpf_reader)
        return NULL;
    bpf_reader->map_fd = bpf_reader->types_fd = bpf_reader->program_fd = -1;
    if (map_area(bpf_reader) && load_types(bpf_reader) && load_bpf_program(bpf_reader))
        return bpf_reader;
    cause = errno;
    bpf_reader_free(bpf_reader);
    errno = cause;
    return NULL;
}

void bpf_reader_free(struct bpf_reader *bpf_reader)
{
    if (!bpf_reader)
        return;
    if (bpf_reader->area)
        (void)munmap(bpf_reader->area, sizeof(*bpf_reader->area));
    if (bpf_reader->map_fd >= 0)
        (void)close(bpf_reader->map_fd);
    if (bpf_reader->types_fd >= 0)
        (void)close(bpf_reader->types_fd);
    if (bpf_reader->program_fd >= 0)
        (void)close(bpf_reader->program_fd);
    free(bpf_reader);
}

bool bpf_reader_works(const struct bpf_reader *bpf_reader)
{
    return bpf_reader && !bpf_reader->refused;
}

/* Writes the request: the ranges, cut into pieces. False: too many, or too large. */
static bool ask_for(struct bpf_reader_area *area, const struct mem_range *ranges, size_t count)
{
    uint64_t total = 0, done, size;

    area->count = area->found_count = 0;
    for (size_t i = 0; i < count; i++)
        for (done = 0; done < ranges[i].size; done += size) {
            size =
                ranges[i].size - done < BPF_READER_PIECE ? ranges[i].size - done : BPF_READER_PIECE;
            if (area->count == BPF_READER_RANGES || size > BPF_READER_BYTES - total)
                return false;
            area->ranges[area->count].from = ranges[i].from + done;
            area->ranges[area->count].size = (uint32_t)size;
            area->ranges[area->count++].at = (uint32_t)total;
            total += size;
        }
    area->used = (uint32_t)((total + 7) / 8 * 8);
    /* The program searches these, whatever the counts are. */
    for (size_t i = area->count; i < BPF_READER_SEARCHED; i++)
        area->ranges[i] = (struct bpf_reader_range){0};
    for (size_t i = 0; i < BPF_READER_CHUNKS; i++)
        area->found[i] = (struct bpf_reader_range){0};
    return true;
}

/* Runs the program on that CPU. False: it has not copied the ranges. */
static bool run_bpf_program(struct bpf_reader *bpf_reader, int cpu)
{
    union bpf_attr attr = {0};

    attr.test.prog_fd = (uint32_t)bpf_reader->program_fd;
    attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
    attr.test.cpu = (uint32_t)cpu;
    if (bpf(BPF_PROG_TEST_RUN, &attr) == 0)
        return attr.test.retval == BPF_READER_COPIED &&
               bpf_reader->area->found_count <= BPF_READER_FOUND &&
               bpf_reader->area->used <= BPF_READER_BYTES;
    /* Later calls fail, too, unless the CPU went offline or a resource is short for the moment. */
    bpf_reader->refused = errno != ENXIO && errno != ENOMEM && errno != EAGAIN && errno != EINTR;
    return false;
}

bool bpf_reader_read(struct bpf_reader *bpf_reader, const struct bpf_reader_thread *thread,
                     struct mem *mem, const struct mem_range *ranges, size_t count)
{
    uint64_t at = 0;
    size_t i;

    bpf_reader->count++;
    if (!bpf_reader_works(bpf_reader) || thread->cpu < 0 ||
        !ask_for(bpf_reader->area, ranges, count))
        return false;
    bpf_reader->area->tid = (uint32_t)thread->tid;
    bpf_reader->area->thread = thread->state;
    bpf_reader->area->chain = thread->chain;
    mem->reads++;
    if (!run_bpf_program(bpf_reader, thread->cpu))
        return false;
    mem->bpf_ns += bpf_reader->area->took_ns;
    for (i = 0; i < count; at += ranges[i++].size)
        memcpy(ranges[i].into, bpf_reader->area->bytes + at, ranges[i].size);
    mem->iovecs += count;
    for (i = 0; i < bpf_reader->area->found_count; i++)
        at += bpf_reader->area->found[i].size;
    mem->iovecs += i;
    mem->bytes += at;
    return true;
}

uint64_t bpf_reader_count(const struct bpf_reader *bpf_reader)
{
    return bpf_reader->count;
}

const unsigned char *bpf_reader_find(const struct bpf_reader *bpf_reader, cpy_addr from,
                                     size_t size)
{
    const struct bpf_reader_area *area = bpf_reader->area;
    const struct bpf_reader_range *found;

    for (found = area->found; found < area->found + area->found_count; found++)
        if (from - found->from < found->size && size <= found->size - (from - found->from))
            return area->bytes + found->at + (from - found->from);
    return NULL;
}
