/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpy.h - reads the Python stacks of another process on this machine.
 *
 * The folder unwind/ knows CPython's memory from outside: where the interpreter is, its threads,
 * frames, code objects and asyncio tasks. It knows no profile, no schedule and no output format.
 *
 * Shape:   cpy_open once per process, cpy_sample many times, cpy_close once. To sample by a clock,
 *          call cpy_pin_cpu before each sleep. The target is only read: never stopped, never
 *          written to.
 * Threads: a target belongs to one thread at a time; targets share nothing.
 * Needs:   ptrace access to the target (same user and dumpable, or CAP_SYS_PTRACE).
 * Source:  CPython 3.6 to 3.12 from the rows in layouts.c; 3.13 and later from
 *          the _Py_DebugOffsets table that the target itself carries.
 */
#ifndef UNWIND_CPY_H
#define UNWIND_CPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Every outcome: enum name, metric label, text. */
#define CPY_OUTCOMES(X)                                                           \
    X(OK, "ok", "done")                                                           \
    X(GONE, "gone", "the process has exited")                                     \
    X(DENIED, "denied", "no permission to read the process")                      \
    X(FOREIGN, "foreign", "the process runs no CPython that is known here")       \
    X(STARTING, "starting", "the interpreter is not up yet, or is shutting down") \
    X(RACED, "raced", "the interpreter moved on while it was being read")         \
    X(NOMEM, "nomem", "out of memory or file descriptors")

enum cpy_rc {
#define CPY_ENUM(name, label, text) CPY_##name,
    CPY_OUTCOMES(CPY_ENUM)
#undef CPY_ENUM
};

/* An address in the target's memory. An integer, so that nothing here dereferences it. */
typedef uint64_t cpy_addr;

enum {
    CPY_DEPTH_MAX = 4096,       /* frames of one thread; deeper stacks lose outer frames */
    CPY_THREADS_MAX = 16384,    /* threads of one interpreter */
    CPY_AWAITERS_MAX = 4096,    /* tasks that cpy_running_tasks gives for one thread */
    CPY_INTERPRETERS_MAX = 1024 /* interpreters of one process */
};

/* A code object, decoded once. */
struct cpy_code {
    uint64_t id;        /* unique among all code objects of the target, past ones included */
    const char *func;   /* qualified name, UTF-8 */
    const char *file;   /* as the code object has it: not made absolute */
    int32_t first_line; /* of the function; 0 for "<native>" and "<GC>" */
};

struct cpy_frame {
    const struct cpy_code *code;
    int32_t line; /* 1 is the first line; 0: not known */
    /* Only on request, else 0: CPY_FRAME_POSITIONS, CPY_FRAME_OPCODES. */
    int32_t end_line;           /* 0: not known */
    int32_t column, end_column; /* in bytes of the source line's UTF-8, from 1; 0: not known */
    const char *opcode;         /* name of the instruction in its present form (specialised,
                                   instrumented); static; NULL: not known */
};

/* What a thread is doing. */
enum cpy_status {
    CPY_STATUS_MAIN = 1 << 0,      /* it is the process's main thread */
    CPY_STATUS_GIL = 1 << 1,       /* it holds the GIL */
    CPY_STATUS_CPU = 1 << 2,       /* it runs, or waits for a CPU; on request, see cpy_sample */
    CPY_STATUS_GIL_WAIT = 1 << 3,  /* it waits for the GIL; 3.15 and later; on request */
    CPY_STATUS_EXCEPTION = 1 << 4, /* it handles or propagates an exception; on request */
    CPY_STATUS_GC = 1 << 5,        /* it collects garbage */
    CPY_STATUS_CPU_WAIT =
        1 << 6 /* with CPY_STATUS_CPU, as far as it is known: it waited for a CPU
                  and has slept since it was seen to have one, or left its CPU while its
                  stack was read; so its stack need not be one with which it runs */
};

struct cpy_thread {
    int64_t interpreter; /* CPython's own number of the interpreter, 0 is the main one */
    cpy_addr state;      /* its PyThreadState: identifies the thread */
    pid_t tid;           /* the kernel's id in our pid namespace; 0: not known */
    const char *name;    /* Python's name of the thread, UTF-8; NULL: not known */
    uint32_t status;     /* enum cpy_status, as far as the version tells */
    cpy_addr task;       /* the asyncio task that runs in it; on request; 0: none, or not known */
    bool same;       /* name, task and frames are identical to the previous sample of this thread */
    bool still;      /* task and frames are identical, to the instruction; the name may differ */
    bool torn;       /* no try gave a consistent stack: no frames */
    bool cut;        /* the stack is deeper than CPY_DEPTH_MAX: the root side is missing */
    uint64_t cpu_ns; /* CPU time so far as the kernel counts it, at most a tick old;
                        0 without CPY_STATUS_CPU */
    uint64_t wait_ns; /* time that it waited for a CPU; 0 without CPY_STATUS_CPU */
    uint32_t depth;
    const struct cpy_frame *frames; /* [0] is the innermost call */
};

/* An asyncio task that is not done. */
struct cpy_task {
    cpy_addr id;      /* the address of the task: unique at one moment */
    cpy_addr state;   /* the thread state that it belongs to; 0: its thread has ended */
    const char *name; /* UTF-8; NULL: not known */
    bool running;     /* it runs: `frames` are its thread's stack down to its coroutine */
    bool cut;         /* coroutines or waiters above a limit are missing */
    uint32_t depth;   /* number of frames: the chain of coroutines that it waits in */
    const struct cpy_frame *frames; /* [0] is innermost, the last one the task's own coroutine */
    uint32_t awaited_by_count;
    const cpy_addr *awaited_by; /* ids of the tasks that wait for it, ascending */
};

/* What to read in addition to names and lines. All 0: nothing more, of all threads. */
struct cpy_options {
    uint32_t frames; /* enum cpy_frame_option */
    uint32_t status; /* enum cpy_status: bits that are read only on request */
    uint32_t only;   /* enum cpy_status: give only threads with all of these bits; 0: all */
    bool tasks;      /* cpy_thread.task, which cpy_running_tasks needs, too */
    uint32_t plain;  /* enum cpy_layer: layers to leave out */
};

/*
 * Layers that only save time: without them samples of a program that stands still give the same,
 * and cost more. Of a program that runs, more samples are torn: see unwind/fast/README.md.
 */
enum cpy_layer {
    CPY_LAYER_PREDICTION = 1 << 0, /* one system call fetches what a sample will likely read */
    CPY_LAYER_GIL_SKIP = 1 << 1,   /* threads without the GIL since the last sample are not read */
    CPY_LAYER_SLEEPERS = 1 << 2,   /* threads that have slept since the last sample are not read */
    CPY_LAYER_MEMO = 1 << 3,       /* unchanged tasks are not decoded again, and code objects of
                                     unchanged frames are not compared in each sample */
    CPY_LAYER_PINNING = 1 << 4,    /* samples are taken on the CPU of the thread that runs */
    CPY_LAYER_BPF = 1 << 5,        /* the kernel reads in an interrupt: cpy_scratch_use_bpf */
    CPY_LAYER_ALL = (1 << 6) - 1
};

enum cpy_frame_option {
    CPY_FRAME_NATIVE = 1 << 0,    /* "<native>" between Python frames that C code separates */
    CPY_FRAME_GC = 1 << 1,        /* "<GC>" above what a collecting thread ran */
    CPY_FRAME_POSITIONS = 1 << 2, /* end line and columns */
    CPY_FRAME_OPCODES = 1 << 3    /* the instruction's name */
};

/* The program or library that has the interpreter. */
struct cpy_binary {
    char file[256];    /* path in the target's root; of a longer one the name; "": not known */
    char build_id[68]; /* in hexadecimal; "": it has none, or a longer one */
};

/* What runs in the target. */
struct cpy_info {
    uint32_t hexversion; /* as sys.hexversion */
    bool free_threaded;
    char version[32];  /* "3.15.2", "3.15.0b1" */
    char warning[160]; /* "", or why samples may be wrong: a version that is not verified */
    struct cpy_binary binary;
};

struct mem; /* private: read/mem.h */

/*
 * Opens the memory of a live process, whatever it runs.
 *
 * Gives:  *out, ended with cpy_memory_close; untouched on failure.
 * Errors: CPY_GONE, CPY_DENIED, CPY_NOMEM (also: no descriptors left); `err` says why.
 */
MUST_CHECK enum cpy_rc cpy_memory_open(pid_t pid, struct mem **out, struct err *err);

/* Reads `size` bytes. Errors: CPY_RACED (not mapped), CPY_GONE, CPY_DENIED, CPY_NOMEM. */
MUST_CHECK enum cpy_rc cpy_memory_read(struct mem *mem, cpy_addr from, void *into, size_t size);

/* Closes it. NULL is fine. */
void cpy_memory_close(struct mem *mem);

struct cpy_target; /* private: target.h */

/*
 * Finds the interpreter of process `pid`.
 *
 * Gives:  *out, which the caller ends with cpy_close; untouched on failure.
 * Errors: CPY_GONE, CPY_DENIED, CPY_FOREIGN, CPY_STARTING (worth trying again),
 *         CPY_NOMEM (also: no descriptors left); `err` says why.
 * Cost:   reads the memory map and a few ELF tables; a millisecond, and 0.7 us a line of the map;
 *         not for the hot path.
 *
 * Descriptors, until cpy_close: the process's /proc directory; its mem file where process_vm_readv
 * is forbidden; the schedstat of threads, with CPY_STATUS_CPU of all; the stat of the thread whose
 * CPU was looked up last, until 64 samples have not read it; see also cpy_scratch_files_left.
 */
MUST_CHECK enum cpy_rc cpy_open(pid_t pid, struct cpy_target **out, struct err *err);

/*
 * As cpy_open, for a process that `parent` has forked and that has not called exec: it looks where
 * the parent's interpreter is. If there is none, it searches as cpy_open does.
 *
 * Cost: a few reads, less than a tenth of cpy_open, if there is one.
 */
MUST_CHECK enum cpy_rc cpy_open_forked(pid_t pid, const struct cpy_target *parent,
                                       struct cpy_target **out, struct err *err);

/*
 * Memory that a target needs only during a sample: some MiB of address space, few pages of which
 * are touched. A target has its own; many targets of one thread can share one.
 *
 * Gives: the memory, ended with cpy_scratch_free after the targets; NULL: out of memory.
 */
struct cpy_scratch; /* private: target.h */

MUST_CHECK struct cpy_scratch *cpy_scratch_new(void);
void cpy_scratch_free(struct cpy_scratch *scratch);

/*
 * Lets samples of targets with this memory read running threads by a BPF program that interrupts
 * them: see bpf_reader.h. False: no permission, or the kernel does not support it (errno says
 * which); then samples do without. From Linux 5.19 on the permissions may be dropped after this.
 * NULL is fine, and false.
 */
bool cpy_scratch_use_bpf(struct cpy_scratch *scratch);

/* Number of descriptors (stat and sched files of threads) that samples of all targets with this
 * memory may still open and keep. */
size_t cpy_scratch_files_left(const struct cpy_scratch *scratch);

/* From now on the target borrows this memory, which must outlive it, instead of its own. */
void cpy_use_scratch(struct cpy_target *target, struct cpy_scratch *scratch);

/* Sets what later samples read; copies *options. */
void cpy_set_options(struct cpy_target *target, const struct cpy_options *options);

/*
 * Writes into *out the bits of asked->frames and asked->status that samples of the target cannot
 * have, and 0 into its other fields. CPY_STATUS_GIL: the target has no GIL.
 */
void cpy_missing_features(const struct cpy_target *target, const struct cpy_options *asked,
                          struct cpy_options *out);

/* True if cpy_tasks can find the asyncio tasks of this version: 3.14 and later. */
bool cpy_tells_tasks(const struct cpy_target *target);

/* The interpreter that was found. Lends until cpy_close. */
const struct cpy_info *cpy_info(const struct cpy_target *target);

struct buf; /* base/buf.h */

enum { CPY_WORDS_MAX = 1024 }; /* words of a command line; variables of an environment */

/*
 * Read Python's copies of the command line and the environment that the program was started with,
 * because programs that set their title overwrite /proc/PID/cmdline and environ. Words, NAME=VALUE
 * in an environment, are appended with a NUL behind each. The command line is sys.orig_argv; before
 * 3.10 "python" and sys.argv, which the program may have changed.
 *
 * Errors: CPY_RACED: there is none, the command line has over CPY_WORDS_MAX words, or it changed
 *         while it was read. CPY_NOMEM: the rest does not fit into `out`. Else as cpy_sample. What
 *         was appended before an error stays. Variables over CPY_WORDS_MAX are left out.
 * Cost:   some reads, and one or two for each word.
 */
MUST_CHECK enum cpy_rc cpy_read_arguments(struct cpy_target *target, struct buf *out);
MUST_CHECK enum cpy_rc cpy_read_environment(struct cpy_target *target, struct buf *out);

/*
 * Finds a second live interpreter in the process, which samples do not read: a program can load
 * another libpython at any time.
 *
 * Gives: true and *out, or false.
 * Cost:  as cpy_open.
 */
MUST_CHECK bool cpy_find_another(const struct cpy_target *target, struct cpy_info *out);

/*
 * Reads the stack of each Python thread; calls `each` once a thread.
 *
 * Lends:  the thread, its frames and strings, until `each` returns.
 * Errors: CPY_GONE, CPY_DENIED, CPY_STARTING, CPY_RACED (the list of threads changed while it was
 *         read, or it took too many reads; worth trying again), CPY_NOMEM. No text: hot path.
 * Cost:   once warm, no allocation, and this number of remote reads:
 *         none while the only thread of the process sleeps (a read of its scheduler counters);
 *         one if at most one thread had the GIL since the sample before (the words of the
 *         interpreters and the stack of that thread);
 *         two if the GIL was handed over once (both threads);
 *         else two or three (all threads): also without a GIL, before 3.12, which does not count
 *         hand-overs, and if interpreters share the GIL;
 *         before 3.14 one more in one sample of eight (see codes_trusted in objects/code.h).
 *         Memory that the sample before did not read takes further reads.
 *
 * If a stack was torn, or a running thread may have changed while it was read, the calling thread
 * takes that thread's CPU for a moment and reads it again (see cpu_pin.h). Its CPU affinity is
 * restored when this returns, unless cpy_pin_cpu has changed it. A new interpreter is found within
 * 64 samples.
 */
MUST_CHECK enum cpy_rc cpy_sample(struct cpy_target *target,
                                  void (*each)(void *ctx, const struct cpy_thread *thread),
                                  void *ctx);

/*
 * Makes the next samples read again the names of threads that have run, 16 in each sample; every
 * tenth call also that of one other thread, in turn. So the new name of a thread that renames
 * itself is seen soon, that of a sleeping thread much later. Names of new threads are read anyway.
 *
 * Cost: usually no system calls for threads that run all the time, and a few for others.
 */
void cpy_look_at_names(struct cpy_target *target);

/*
 * True if every thread of the last sample slept then and has slept since, so that a sample would
 * give the same again. Only valid after a sample with CPY_STATUS_CPU and without torn stacks. With
 * more than two threads, one that woke up and has not taken the GIL counts as asleep, because its
 * stack is the same; before 3.12 also one that does not hold the GIL any more.
 *
 * Cost: one short system call a thread, up to the first that has run; or two altogether.
 */
MUST_CHECK bool cpy_asleep(struct cpy_target *target);

/*
 * Gives all threads again as in the last sample, without CPY_STATUS_CPU. Only valid if all threads
 * have slept since (cpy_asleep).
 *
 * Lends:  as cpy_sample.
 * Errors: CPY_RACED: a thread's stack is not cached any more, or was torn; none was given.
 * Cost:   nothing of the target is read, and the kernel is not asked about its threads.
 */
MUST_CHECK enum cpy_rc cpy_replay_last(struct cpy_target *target,
                                       void (*each)(void *ctx, const struct cpy_thread *thread),
                                       void *ctx);

/* Frees copies and results that the next sample would make again; cpy_asleep still works. For a
 * target that likely sleeps for long. */
void cpy_trim(struct cpy_target *target);

/*
 * Prepares the calling thread for its sleep until the next sample.
 *
 * It moves to the CPU of the thread that will likely run, with the lowest real-time priority if it
 * has permission (CAP_SYS_NICE or RLIMIT_RTPRIO). Then the timer that ends the sleep preempts that
 * thread wherever it is, and the sample is consistent. With ordinary priority it would get the CPU
 * late, and after certain system calls. So without permission it moves there only for a target
 * whose stacks are often torn when they are read from another CPU.
 *
 * With a BPF reader (cpy_scratch_use_bpf) it moves away from that CPU instead, if it may use
 * another one. For a target that sleeps often it moves away from the CPU where its threads sleep.
 *
 * Call cpy_unpin_cpu before anything that takes longer than a sample.
 *
 * Gives: true: the thread was moved, until cpy_unpin_cpu or a call that gives false.
 * Cost:  a read of a stat line; if the calling thread is not there yet, a move and a change of
 *        priority; with ordinary priority, a wait of some milliseconds for the end of the target's
 *        time slice.
 */
bool cpy_pin_cpu(struct cpy_target *target);

/*
 * To be called between the wake-up of the moved thread and the sample. `now_ns` is the time of the
 * wake-up, or little later, on CLOCK_MONOTONIC. It saves a system call for a thread whose counters
 * account for all the time since the sample before: that thread is known to run.
 */
void cpy_woke(struct cpy_target *target, uint64_t now_ns);

/*
 * To be called before each sample: `cpu_ns` is the CPU time of the process, 0: not known; `now_ns`
 * is when it was read. It saves a system call for each thread that waits: see cpu_account.h.
 */
void cpy_note_cpu(struct cpy_target *target, uint64_t cpu_ns, uint64_t now_ns);

/* Restores the affinity and the priority of the calling thread. */
void cpy_unpin_cpu(struct cpy_target *target);

/*
 * Reads all asyncio tasks (CPython 3.14 and later); calls `each` once a task: those of each
 * thread, then those whose thread has ended. Each task is consistent, or left out and counted as
 * torn. Different tasks are not of the same moment, because the target runs.
 *
 * Lends:  the task, its frames and strings, until `each` returns.
 * Errors: as cpy_sample; CPY_FOREIGN: the target has no asyncio that can be read.
 * Cost:   once warm, one read (one for each 512 ranges) if only running tasks have changed, and
 *         some hundred nanoseconds to compare the bytes of a task; some ten reads for a new task.
 *         Until asyncio is found, reads the memory map and an ELF file. No allocation once warm.
 */
MUST_CHECK enum cpy_rc cpy_tasks(struct cpy_target *target,
                                 void (*each)(void *ctx, const struct cpy_task *task), void *ctx);

/*
 * Reads the task that ran in each thread in the last cpy_sample (with cpy_options.tasks), then the
 * tasks that wait for it, directly or not, each once a thread: they continue the thread's stack.
 * Their `state` is that thread.
 *
 * Lends, errors: as cpy_tasks.
 * Cost:   once warm, no read if the same tasks wait and it was also called after the sample before,
 *         because cpy_sample fetches them then.
 */
MUST_CHECK enum cpy_rc cpy_running_tasks(struct cpy_target *target,
                                         void (*each)(void *ctx, const struct cpy_task *task),
                                         void *ctx);

/*
 * Hashes the contents of a thread's innermost frames (instructions, variables, evaluation stacks)
 * and the count of GIL hand-overs in the last sample. The hash stays the same during one call of C
 * code. It differs after the thread has run Python code, unless all contents are the same again (a
 * loop that calls the same C function with the same objects).
 *
 * Gives:  *out, of the thread whose PyThreadState is `state` in the last sample.
 * Errors: as cpy_sample; CPY_RACED also if there is no such thread, or it changes while it is read.
 * Cost:   some ten reads, none of them predicted: not for each sample.
 */
MUST_CHECK enum cpy_rc cpy_fingerprint(struct cpy_target *target, cpy_addr state, uint64_t *out);

/* Values of cpy_lock_wait.holder that are no index. */
#define CPY_NO_HOLDER       SIZE_MAX       /* not known */
#define CPY_SEVERAL_HOLDERS (SIZE_MAX - 1) /* several threads seem to have the lock */

/* A thread that waits in futex(2). */
struct cpy_lock_wait {
    cpy_addr state; /* in: its PyThreadState in the last sample */
    cpy_addr futex; /* in: the address that it waits at */
    cpy_addr lock;  /* out: the lock object; 0: none of the others is known to have it */
    size_t holder;  /* out: index in `waits` of the thread that has it */
};

/*
 * Finds out which of the waiting threads hold locks that others of them wait for. It finds only a
 * threading.Lock or RLock that was taken by `with`, because a lock does not name its holder: not
 * those taken by acquire(), or by `with` of a Condition or a Semaphore.
 *
 * Errors: CPY_NOMEM. A thread that cannot be read counts as no holder.
 * Cost:   for each thread some ten reads, and up to three for each value of its frames; at most
 *         16384 reads in all.
 */
MUST_CHECK enum cpy_rc cpy_lock_holders(struct cpy_target *target, struct cpy_lock_wait *waits,
                                        size_t count);

/*
 * The counters: field, label, text. One list, so that all output (reports, JSON, metrics) has all.
 * The label is also the key in JSON and the end of a metric's name.
 */
#define CPY_STATS(X)                                                                    \
    X(samples, "samples", "samples that gave all threads")                              \
    X(reads, "reads", "system calls that read the target")                              \
    X(iovecs, "iovecs", "ranges that they read")                                        \
    X(bytes, "bytes", "bytes that they brought")                                        \
    X(predictions, "predictions", "samples whose reads were predicted")                 \
    X(predictions_held, "predictions_held", "of those, samples that needed no more")    \
    X(gil_skips, "light", "samples that read only threads that can have run")           \
    X(threads, "threads", "stacks that were given whole")                               \
    X(threads_kept, "threads_kept", "of those, stacks of threads that cannot have run") \
    X(frames_decoded, "frames_decoded", "frames that were given names and lines")       \
    X(frames_reused, "frames_reused", "frames that were as in the sample before")       \
    X(codes_read, "codes_read", "code objects decoded")                                 \
    X(codes_stale, "codes_stale", "code objects found replaced by others")              \
    X(codes_evicted, "codes_evicted", "code objects dropped as the cache was full")     \
    X(retries, "retries", "walks that were begun again")                                \
    X(cpu_pins, "seats", "moves to the target's CPU")                                   \
    X(bpf_reader, "onsite", "reads in an interrupt of the thread that ran")             \
    X(bpf_ns, "onsite_ns", "how long those took (ns): the thread stood still")          \
    X(torn, "torn", "stacks and tasks that were given up")                              \
    X(torn_moved, "torn_moved", "of those, because the thread moved on")                \
    X(torn_chain, "torn_chain", "of those, because the frames made no stack")           \
    X(torn_code, "torn_code", "of those, because a frame had no code or was not in it") \
    X(torn_unmapped, "torn_unmapped", "of those, because memory was not there")         \
    X(torn_tasks, "torn_tasks", "of those, tasks")                                      \
    X(failed, "failed", "samples that gave up, as the list of threads did not hold still")

/* Counters since cpy_open. */
struct cpy_stats {
#define CPY_STATS_FIELD(field, label, text) uint64_t field;
    CPY_STATS(CPY_STATS_FIELD)
#undef CPY_STATS_FIELD
};

/* The counters. Lends until cpy_close; each sample updates them. */
const struct cpy_stats *cpy_stats(const struct cpy_target *target);

/* Frees a target. NULL is fine. */
void cpy_close(struct cpy_target *target);

/* The struct open_how of all openat2 calls of the library, in read-only memory. A seccomp filter,
 * which sees only its address, can so allow just these calls. */
const void *cpy_open_how(void);

/* The metric label of an outcome, e.g. "raced". Never NULL. */
const char *cpy_rc_label(enum cpy_rc rc);

/* What the outcome means, e.g. "the process has exited". Never NULL. */
const char *cpy_rc_text(enum cpy_rc rc);

#endif
