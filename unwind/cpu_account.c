/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_account.c - see cpu_account.h. */
#include "unwind/cpu_account.h"

/* The kernel adds to a running thread's counter at its scheduler's ticks, of which there are 100 a
 * second or more; for the process's clock it adds what has come since. */
#define LAG_NS UINT64_C(10000000)
/* A thread that works for less is asked within a second. */
#define SLIGHT_NS UINT64_C(20000)
#define CLOSE_NS  UINT64_C(1000000000)

void cpu_account_begin(struct cpu_account *account, uint64_t process_ns, uint64_t now_ns)
{
    account->process_ns = process_ns;
    account->now_ns = now_ns;
    account->running = 0;
}

void cpu_account_add(struct cpu_account *account, struct cached *thread, bool running)
{
    const uint64_t now_ns = thread->sched_idle.cpu_ns, before_ns = thread->counted_ns;

    thread->counted_ns = now_ns;
    thread->used_cpu = now_ns > before_ns;
    account->running += running;
    if (before_ns > 0 && now_ns > before_ns)
        account->explained_ns += now_ns - before_ns;
}

bool cpu_account_is_open(const struct cpu_account *account, uint64_t used_ns, unsigned running)
{
    const uint64_t process_used_ns = account->process_ns - account->closed_process_ns;

    return account->process_ns == 0 || account->closed_ns == 0 ||
           account->process_ns < account->closed_process_ns ||
           account->now_ns - account->closed_ns >= CLOSE_NS ||
           process_used_ns >
               account->explained_ns + used_ns + SLIGHT_NS + (account->running + running) * LAG_NS;
}

void cpu_account_close(struct cpu_account *account)
{
    account->closed_process_ns = account->process_ns;
    account->closed_ns = account->now_ns;
    account->explained_ns = 0;
}
