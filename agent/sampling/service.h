/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the running profile of each service: what its processes were seen doing.
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
    VALUE_SAMPLES,
    VALUE_WALL,
    VALUE_CPU,
    VALUE_GIL,       /* held */
    VALUE_WAIT,      /* for a CPU */
    VALUE_EXCEPTION, /* wall time in which the thread handled or raised an exception; on request */
    VALUES
};

enum { VALUES_USUAL = VALUE_EXCEPTION }; /* the values of a row, unless more are asked for */

extern const struct pprof_type service_types[VALUES];

enum { SERVICE_PROFILE_MAX = 48 << 20 }; /* bytes that one profile may take */

/*
 * Processes or threads that a profile tells apart: a set of numbers.
 *
 * Cache: which processes and threads have labels of their own
 * Key:   pid and the kernel's thread id
 * Ends:  with the interval
 * Test:  tests/unit/sampling/test_service.c: bounds_how_many_processes_it_tells_apart
 */
struct split_set {
    struct pointer_table numbers; /* those that are in have some value */
    size_t max;                   /* 0: no limit, and no set */
};

/* How long the profile of a new process is held until it says what it is called. */
#define SERVICE_HOLD_NS (5 * NS_PER_S)

enum { SERVICES_HELD_MAX = 256 }; /* at once; what comes beyond is not held */

struct service {
    char *name;           /* owned */
    struct labels labels; /* of the service, beside its name */
    size_t users;         /* who it is kept for: see services_trim */
    bool deferred;        /* likewise: its profile goes on in the next interval */
    struct proc_id held;  /* the one process of a profile that is held: see services_hold; pid 0:
                             it is not */
    uint64_t hold_end_ns; /* monotonic: when it is released though nothing was heard of it */
    struct split_set split;
    struct pprof *profile;           /* owned */
    struct pprof_timeline *timeline; /* owned: samples of timeline_value; NULL: none are kept */
    enum service_value timeline_value;
    int64_t start_utc_ns;  /* of the running interval */
    uint64_t start_ns;     /* the same, monotonic */
    uint64_t period_ns;    /* between two samples of a process */
    uint64_t overflow;     /* samples whose stack the profile had no room for */
    uint32_t unseen_row;   /* CPU time that no sample saw */
    uint32_t overflow_row; /* stands for all stacks that there is no room for */
    char python[32];       /* the version that its processes run */
    uint32_t missing;      /* what a version of them does not tell: see sample_options.h */
    uint64_t owner;        /* of the process that adds most to the profile; 0: not known */
    double owner_bytes;    /* that this one adds in a minute */
    struct service *next;
};

struct services {
    struct service *first; /* owned list */
    size_t count;
    size_t held;       /* of them */
    size_t max;        /* of the others; what is beyond shares one; 0: no limit */
    size_t values;     /* of a row: VALUES or, as 0, VALUES_USUAL */
    uint64_t begin_ns; /* monotonic: of the running interval, for services that come in it */
    enum service_value timeline_value; /* services have time lines of that value, and processes
                                          stay in them; VALUE_SAMPLES: they have none */
};

#define SERVICE_HANG "hang" /* the label of what is sampled while it hangs */

/*
 * How the labels of rows are called where names may have no blanks, for pprof_fit. Elsewhere they
 * are called as tools for pprof know them.
 */
extern const struct pprof_rename service_plain_names[];

/* The service called `name`, made if it is new; NULL: no memory. Lends until services_finish. */
MUST_CHECK struct service *services_get(struct services *services, const char *name, int64_t utc_ns,
                                        uint64_t now_ns);

/* The same with labels, which must be equal, too. */
MUST_CHECK struct service *services_get_labelled(struct services *services, const char *name,
                                                 const struct labels *labels, int64_t utc_ns,
                                                 uint64_t now_ns);

/*
 * The profile of one process whose name is not settled, made if it is new; `name` is the one to go
 * by. No other call finds it. Beyond SERVICES_HELD_MAX: what services_get_labelled gives.
 */
MUST_CHECK struct service *services_hold(struct services *services, struct proc_id id,
                                         const char *name, const struct labels *labels,
                                         int64_t utc_ns, uint64_t now_ns);

/* The service that was added first; held services do not count. NULL: there is none. */
struct service *services_oldest(const struct services *services);

/* The profile that is held of a process; NULL: none. */
struct service *services_held(const struct services *services, struct proc_id id);

/* Ends a held profile; what it has joins the service of that name. False: out of memory, and that
 * is lost. */
MUST_CHECK bool services_release(struct services *services, struct service *held, const char *name,
                                 const struct labels *labels);

/* Ends a held profile of which nothing is needed any more. */
void services_discard(struct services *services, struct service *held);

/* Says that a process of that owner adds so many bytes to the profile in a minute. */
void service_set_owner(struct service *service, uint64_t owner, double bytes);

/* Says which interpreter runs in a process of the service. */
void service_set_python(struct service *service, const struct cpy_info *info);

/* True if there is nothing to deliver of it. */
bool service_is_empty(const struct service *service);

/*
 * True if the interval that ends now is not the end of this service's profile: that of a hang goes
 * on for another one, and one that is held until it is released. Then it is not delivered, and
 * keeps its samples.
 */
bool service_defer(struct service *service);

/* Ends the services that have no users, once their profiles are delivered. */
void services_trim(struct services *services);

void services_finish(struct services *services);

/* Forgets all samples: a new interval begins. False: out of memory. */
MUST_CHECK bool service_begin(struct service *service, int64_t utc_ns, uint64_t now_ns);

/* What the labels of a row say, beside the thread's id and name. */
struct service_tag {
    pid_t pid;
    enum service_split split; /* how much of process and thread becomes labels */
    const char *hang;         /* static: in which way the process hangs; NULL: it does not */
    const char *role;         /* static: what a part of a program does; NULL: not known */
    const char *since;        /* borrowed: when it was begun to use the time; NULL: this interval */
};

/* The row of a thread's stack; the overflow row where there is no room for it. */
uint32_t service_row(struct service *service, const struct cpy_thread *thread,
                     const struct service_tag *tag);

/*
 * The row of CPU time that is given to no stack that was seen, which is under the frame of
 * `class`, not CPU_STACKS; with the label of the process if that is asked for. `detail`: who
 * used it, a frame below that one; NULL or "": not known.
 */
uint32_t service_class_row(struct service *service, enum cpu_class class, const char *detail,
                           const struct service_tag *tag);

enum { SERVICE_SINCE_MAX = 32 };

/* When a process was started (clock ticks after boot; 0: not known), for service_tag.since: `out`
 * if that was before the interval; else NULL. */
const char *service_since(const struct service *service, uint64_t start, uint64_t now_ns,
                          char out[SERVICE_SINCE_MAX]);

/* A stack of frames and of what stands for none, put together piece by piece, leaf first. */
struct service_stack {
    uint32_t *locations; /* borrowed: room for SERVICE_DEPTH_MAX */
    uint32_t depth;
};

enum { SERVICE_DEPTH_MAX = 2 * CPY_DEPTH_MAX };

/* Appends frames, or one that stands for none. What there is no room for is left out. An innermost
 * frame with an instruction's name becomes two, of which the inner one is called so. */
MUST_CHECK enum pprof_rc service_stack_frames(struct service *service, struct service_stack *stack,
                                              const struct cpy_frame *frames, uint32_t depth);
MUST_CHECK enum pprof_rc service_stack_name(struct service *service, struct service_stack *stack,
                                            const char *name);

/* The row of such a stack. `thread` has the id and the name; NULL: not known. */
uint32_t service_stack_row(struct service *service, const struct service_stack *stack,
                           const struct cpy_thread *thread, const struct service_tag *tag);

#endif
