/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the running profile of each service, and the rows that samples are counted under.
 *
 * Units: `utc_ns` is CLOCK_REALTIME, `now_ns` CLOCK_MONOTONIC. A row is an index of pprof_row.
 */
#ifndef AGENT_SAMPLING_SERVICE_H
#define AGENT_SAMPLING_SERVICE_H

#include "agent/discover/target_profile.h"
#include "agent/proc/proc.h"
#include "agent/sampling/cpu_class.h"
#include "base/pointer_table.h"
#include "base/time_units.h"
#include "pprof/pprof.h"
#include "pprof/timeline.h"
#include "unwind/cpy.h"

/* The values of a row, in this order. */
enum service_value {
    VALUE_SAMPLES,   /* a count; all others are ns, see process.h */
    VALUE_WALL,      /* wall time */
    VALUE_CPU,       /* CPU time */
    VALUE_GIL,       /* wall time in which the thread held the GIL */
    VALUE_WAIT,      /* time in which the thread waited for a CPU */
    VALUE_EXCEPTION, /* wall time in which the thread handled or raised an exception; on request */
    VALUES
};

enum { VALUES_USUAL = VALUE_EXCEPTION }; /* number of values of a row without VALUE_EXCEPTION */

extern const struct pprof_type service_types[VALUES]; /* name and unit of each value */

enum { SERVICE_PROFILE_MAX = 48 << 20 }; /* bytes that one profile may take */

/*
 * Set of the processes or threads that have labels of their own in a profile.
 *
 * Cache: which processes and threads have labels of their own
 * Key:   pid and the kernel's thread id
 * Ends:  with the interval
 * Test:  tests/unit/sampling/test_service.c: bounds_how_many_processes_it_tells_apart
 */
struct split_set {
    struct pointer_table numbers; /* key: pid << 32 | thread id (0 for a process); values unused */
    size_t max;                   /* most entries; 0: no limit, and `numbers` stays empty */
};

/* How long the profile of a new process is held until the process tells its name. */
#define SERVICE_HOLD_NS (5 * NS_PER_S)

enum { SERVICES_HELD_MAX = 256 }; /* services held at once */

struct service {
    char *name;           /* owned */
    struct labels labels; /* of the service, beside its name */
    size_t users;         /* services_trim keeps the service while this is above 0 */
    bool deferred;        /* result of the last service_defer */
    struct proc_id held;  /* the process of a held profile: services_hold; pid 0: not held */
    uint64_t hold_end_ns; /* monotonic: a held profile is released then, whatever has come */
    struct split_set split;
    struct pprof *profile;           /* owned */
    struct pprof_timeline *timeline; /* owned: weighted by timeline_value; NULL: none is kept */
    enum service_value timeline_value;
    int64_t start_utc_ns;  /* start of the running interval */
    uint64_t start_ns;     /* the same, monotonic */
    uint64_t period_ns;    /* between two samples of a process */
    uint64_t overflow;     /* samples whose stack the profile had no room for */
    uint32_t unseen_row;   /* row of CPU time that no sample saw */
    uint32_t overflow_row; /* row of all stacks that the profile has no room for */
    char python[32];       /* version of the process that came last; "": not known */
    uint32_t missing;      /* bits: each enum missing_option that a process of it lacks */
    uint64_t owner;        /* owner_hash of the process that adds most bytes; 0: not known */
    double owner_bytes;    /* bytes that this process adds, as in service_set_owner */
    struct service *next;
};

struct services {
    struct service *first; /* owned list, the newest first */
    size_t count;
    size_t held;       /* services of the list that are held */
    size_t max;        /* most services that are not held; the rest share one; 0: no limit */
    size_t values;     /* number of values of a row: VALUES or VALUES_USUAL; 0: VALUES_USUAL */
    uint64_t begin_ns; /* monotonic: start of the running interval, for services that come in it */
    enum service_value timeline_value; /* new services have a time line weighted by this value;
                                          VALUE_SAMPLES: they have none */
};

#define SERVICE_HANG "hang" /* label of the service and of samples while a process hangs */

/* Names of row labels without blanks, for pprof_fit; the usual ones ("thread id") are those of
 * pprof's tools. Ends with NULL. */
extern const struct pprof_rename service_plain_names[];

/*
 * The service `name` without labels, made if it is new. Beyond services.max it is the one that the
 * rest shares. NULL: no memory. Lends until services_trim ends it, or services_finish.
 */
MUST_CHECK struct service *services_get(struct services *services, const char *name, int64_t utc_ns,
                                        uint64_t now_ns);

/* The same with labels: a service is found by name and labels. */
MUST_CHECK struct service *services_get_labelled(struct services *services, const char *name,
                                                 const struct labels *labels, int64_t utc_ns,
                                                 uint64_t now_ns);

/*
 * The service of one process whose name is not final, made if it is new; `name` is the one so far.
 * Only this call and services_held find it. Beyond SERVICES_HELD_MAX: as services_get_labelled.
 */
MUST_CHECK struct service *services_hold(struct services *services, struct proc_id id,
                                         const char *name, const struct labels *labels,
                                         int64_t utc_ns, uint64_t now_ns);

/* The service that was added first; held services do not count. NULL: there is none. */
struct service *services_oldest(const struct services *services);

/* The held service of a process; NULL: none. */
struct service *services_held(const struct services *services, struct proc_id id);

/* Frees a held service, after its profile was merged into the service of that name and labels.
 * False: out of memory, and samples are lost. */
MUST_CHECK bool services_release(struct services *services, struct service *held, const char *name,
                                 const struct labels *labels);

/* Frees a held service with its samples. */
void services_discard(struct services *services, struct service *held);

/* Sets the owner, if `bytes` exceeds owner_bytes. `bytes`: sampling_cost.bytes of a process. */
void service_set_owner(struct service *service, uint64_t owner, double bytes);

/* Sets the Python version and the binary of the service to those of one of its processes. */
void service_set_python(struct service *service, const struct cpy_info *info);

/* True if the profile has neither samples nor CPU time. */
bool service_is_empty(const struct service *service);

/*
 * Call it when an interval ends. True: do not deliver the profile; it keeps its samples in the next
 * interval. That holds for a hang once, and for a held service until it is released.
 */
bool service_defer(struct service *service);

/* Frees services without users, except deferred ones. Call it after profiles were delivered. */
void services_trim(struct services *services);

void services_finish(struct services *services);

/* Begins an interval: removes all samples. False: out of memory. */
MUST_CHECK bool service_begin(struct service *service, int64_t utc_ns, uint64_t now_ns);

/* Labels of a row, beside the thread's id and name. */
struct service_tag {
    pid_t pid;
    enum service_split split; /* which of process and thread become labels */
    const char *hang;         /* static: hang_name of the process; NULL: it does not hang */
    const char *role;         /* static: cmdline_role_name; NULL: none */
    const char *since;        /* borrowed: start of the child that used the time; NULL: no label */
};

/* The row of a thread's stack; the overflow row if there is no room for it. */
uint32_t service_row(struct service *service, const struct cpy_thread *thread,
                     const struct service_tag *tag);

/*
 * The row of CPU time without a stack: the frame of `class`, which is not CPU_STACKS. `detail`, the
 * name of the child or thread that used the time, is a frame called by it; NULL or "": not known.
 * Labels as in `tag`, without `hang`. unseen_row if there is no room.
 */
uint32_t service_class_row(struct service *service, enum cpu_class class, const char *detail,
                           const struct service_tag *tag);

enum { SERVICE_SINCE_MAX = 32 };

/* Start of a process, for service_tag.since: writes the time (UTC) to `out` and gives `out` if it
 * was before the running interval; else NULL. `start`: clock ticks after boot; 0: not known. */
const char *service_since(const struct service *service, uint64_t start, uint64_t now_ns,
                          char out[SERVICE_SINCE_MAX]);

/* A stack that is put together piece by piece, leaf first. */
struct service_stack {
    uint32_t *locations; /* borrowed: room for SERVICE_DEPTH_MAX locations of the profile */
    uint32_t depth;      /* number of locations so far */
};

enum { SERVICE_DEPTH_MAX = 2 * CPY_DEPTH_MAX };

/* Append frames, or a made-up frame called `name`. Frames beyond SERVICE_DEPTH_MAX are left out. If
 * the innermost frame has an `opcode`, a frame with its name comes before it. */
MUST_CHECK enum pprof_rc service_stack_frames(struct service *service, struct service_stack *stack,
                                              const struct cpy_frame *frames, uint32_t depth);
MUST_CHECK enum pprof_rc service_stack_name(struct service *service, struct service_stack *stack,
                                            const char *name);

/* The row of such a stack, or the overflow row. `thread`: for labels; NULL: not known. */
uint32_t service_stack_row(struct service *service, const struct service_stack *stack,
                           const struct cpy_thread *thread, const struct service_tag *tag);

#endif
