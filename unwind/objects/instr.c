/* SPDX-License-Identifier: Apache-2.0 */
/* instr.c - see instr.h. */
#include "unwind/objects/instr.h"

#include "unwind/layouts/opcodes.h"

enum { CHUNK = 1024, UNIT_BYTES = 2, LINE_BYTES = 2 }; /* of _PyCoLineInstrumentationData */

/* A way through the code, a piece at a time, with the opcodes that others hide. */
struct scan {
    const struct reader *reader;
    cpy_addr bytecode;
    cpy_addr under_lines, under_instructions; /* an opcode for each unit; 0: nothing is hidden */
    int32_t first, count;                     /* the units that are read */
    unsigned char units[CHUNK * UNIT_BYTES], lines[CHUNK * LINE_BYTES], instructions[CHUNK];
};

static cpy_addr get_entry_bytecode(const struct layout *l, const struct code_entry *entry)
{
    return entry->co_code ? entry->co_code + l->bytes.ob_sval : entry->addr + l->code.bytecode;
}

static enum cpy_rc begin_code_scan(struct scan *scan, const struct reader *reader,
                                   const struct code_entry *entry)
{
    const struct layout *l = reader->layout;
    cpy_addr monitoring = 0;
    enum cpy_rc rc = CPY_OK;

    scan->reader = reader;
    scan->bytecode = get_entry_bytecode(l, entry);
    scan->under_lines = scan->under_instructions = 0;
    scan->first = scan->count = 0;
    if (l->code.monitoring != NO_FIELD)
        rc = mem_read_word(reader->mem, entry->addr + l->code.monitoring, &monitoring);
    if (rc == CPY_OK && monitoring != 0) {
        struct mem_range ranges[2] = {
            {monitoring + l->monitoring.lines, &scan->under_lines, 8},
            {monitoring + l->monitoring.per_instruction_opcodes, &scan->under_instructions, 8}};

        rc = mem_read_ranges(reader->mem, ranges, 2);
    }
    return rc;
}

/* Reads the units from `at` on, up to `last`. */
static enum cpy_rc load_code_units(struct scan *scan, int32_t at, int32_t last)
{
    const size_t count = (size_t)(last - at < CHUNK ? last - at + 1 : CHUNK), from = (size_t)at;
    struct mem_range ranges[3] = {
        {scan->bytecode + from * UNIT_BYTES, scan->units, count * UNIT_BYTES}};
    size_t used = 1;

    if (scan->under_lines)
        ranges[used++] = (struct mem_range){scan->under_lines + from * LINE_BYTES, scan->lines,
                                            count * LINE_BYTES};
    if (scan->under_instructions)
        ranges[used++] =
            (struct mem_range){scan->under_instructions + from, scan->instructions, count};
    scan->first = at;
    scan->count = (int32_t)count;
    return mem_read_ranges(scan->reader->mem, ranges, used);
}

/* How many caches follow the instruction at `unit`; above OPCODE_CACHES_MAX: cannot be told. */
static uint8_t caches_at(const struct scan *scan, int32_t unit)
{
    const uint8_t minor = scan->reader->layout->minor;
    const size_t at = (size_t)(unit - scan->first);
    uint8_t caches = opcode_caches(minor, scan->units[at * UNIT_BYTES]);

    if (caches == OPCODE_HIDES_LINE && scan->under_lines)
        caches = opcode_caches(minor, scan->lines[at * LINE_BYTES]);
    if (caches == OPCODE_HIDES_INSTRUCTION && scan->under_instructions)
        caches = opcode_caches(minor, scan->instructions[at]);
    return caches;
}

/* Finds the opcode of the instruction that `unit` belongs to; *out is untouched if none does. */
static enum cpy_rc find_opcode(struct scan *scan, int32_t unit, const char **out)
{
    enum cpy_rc rc;
    int32_t at = 0;
    uint8_t caches;

    while (at <= unit) {
        if (at - scan->first >= scan->count) {
            rc = load_code_units(scan, at, unit);
            if (rc != CPY_OK)
                return rc;
        }
        caches = caches_at(scan, at);
        if (caches != OPCODE_UNKNOWN && (at == unit || at + caches == unit))
            *out = opcode_name(scan->reader->layout->minor,
                               scan->units[(at - scan->first) * UNIT_BYTES]);
        if (caches > OPCODE_CACHES_MAX)
            break; /* hidden, or no opcode: where the next one is cannot be told */
        at += 1 + caches;
    }
    return CPY_OK; /* without a name also amid the caches, where no frame points */
}

enum cpy_rc instr_name(const struct reader *reader, const struct code_entry *entry, int32_t unit,
                       const char **out)
{
    const struct layout *l = reader->layout;
    struct scan scan;
    unsigned char opcode;
    enum cpy_rc rc;

    *out = NULL;
    if (unit < 0 || unit >= INSTR_UNITS_MAX)
        return CPY_OK;
    if (l->instr_in_caches) {
        rc = begin_code_scan(&scan, reader, entry);
        return rc == CPY_OK ? find_opcode(&scan, unit, out) : rc;
    }
    rc = mem_read(reader->mem, get_entry_bytecode(l, entry) + (uint64_t)unit * UNIT_BYTES, &opcode,
                  1);
    if (rc == CPY_OK)
        *out = opcode_name(l->minor, opcode);
    return rc;
}
