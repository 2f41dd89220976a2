/* SPDX-License-Identifier: Apache-2.0 */
/* samplers.c - when samplers are started, watched, told what to do and given up; see
 * supervisor_internal.h. */
#include <string.h>

#include "agent/host/clock.h"
#include "agent/host/log.h"
#include "agent/supervisor/supervisor_internal.h"

/* How often samplers are looked at: one that is blocked is known after a quarter of a second. */
#define LOOK_NS (60 * NS_PER_MS)
/* A suspect that is sampled so long without blocking is one of all again. */
#define TRIAL_NS (10 * NS_PER_S)

/* A sampler is lost or killed: what it sampled is to be given to the next. Gives the process
 * that it read. */
static void lose(struct fleet *f, struct slot *slot, bool failed, bool blame)
{
    uint64_t now_ns = clock_mono_ns();
    pid_t pid = helper_reads(&slot->helper);
    struct charge *charge = pid ? charges_reading(&f->charges, slot, pid) : NULL;
    const struct suspect *suspect = NULL;

    slot_stop(slot, failed, now_ns, &f->ended);
    charges_unsend(&f->charges, slot);
    if (charge && blame)
        suspect = charges_suspect(&f->charges, charge, &f->slots[APART], now_ns);
    if (suspect && suspect->count == 1)
        log_line(LOG_LEVEL_WARNING,
                 "process %d %s the sampler that read it; it is sampled apart from all others from "
                 "now on, and tried ever more rarely",
                 (int)pid, failed ? "crashed" : "blocked");
}

void fleet_lose_ended(struct fleet *f, struct slot *slot)
{
    int status = helper_status(&slot->helper);
    bool crashed = status == 128 + SIGSEGV || status == 128 + SIGBUS || status == 128 + SIGABRT ||
                   status == 128 + SIGILL || status == 128 + SIGFPE;

    f->counts.crashed++;
    log_line(LOG_LEVEL_WARNING, "a sampler has ended (%s %d) and is started again%s",
             status > 128 ? "signal" : "status", status > 128 ? status - 128 : status,
             status == 128 + SIGSYS ? ": a seccomp filter kills it, which must allow "
                                      "process_vm_readv; pystrobe doctor says more"
                                    : "");
    lose(f, slot, true, crashed);
}

void fleet_order(struct fleet *f, struct slot *slot, enum order kind, const void *message,
                 size_t size)
{
    if (slot_runs(slot) && !slot_order(slot, kind, message, size))
        fleet_lose_ended(f, slot);
}

void fleet_order_end(struct fleet *f, struct slot *slot, bool last)
{
    struct order_end message;

    memset(&message, 0, sizeof(message));
    message.number = f->interval;
    message.last = last;
    fleet_order(f, slot, ORDER_END, &message, sizeof(message));
}

static void order_burst(struct fleet *f, struct slot *slot, const struct burst *burst,
                        uint64_t now_ns)
{
    struct order_burst message;

    if (burst->until_ns <= now_ns)
        return;
    memset(&message, 0, sizeof(message));
    message.burst = *burst;
    message.duration_ns = burst->until_ns - now_ns;
    fleet_order(f, slot, ORDER_BURST, &message, sizeof(message));
}

size_t fleet_burst(struct fleet *f, const struct burst *burst, uint64_t duration_ns)
{
    uint64_t now_ns = clock_mono_ns();
    struct burst mine = *burst;
    const struct charge *charge;
    size_t i, count = 0;

    mine.until_ns = duration_ns < UINT64_MAX - now_ns ? now_ns + duration_ns : UINT64_MAX;
    if (!bursts_add(&f->bursts, &mine, now_ns))
        return SIZE_MAX;
    for (i = 0; i < SLOTS; i++)
        order_burst(f, &f->slots[i], &mine, now_ns);
    for (i = 0; i < f->charges.count; i++) {
        charge = &f->charges.items[i];
        count += charge->sampling && burst_fits(&mine, charge->id.pid, charge->choice.service);
    }
    return count;
}

const struct burst *fleet_burst_of(const struct fleet *f, const struct burst *whom)
{
    return bursts_like(&f->bursts, whom, clock_mono_ns());
}

static void order_settle(struct fleet *f, struct slot *slot)
{
    struct order_settle message;

    memset(&message, 0, sizeof(message));
    message.number = f->settling;
    message.apart = f->apart;
    fleet_order(f, slot, ORDER_SETTLE, &message, sizeof(message));
}

uint64_t fleet_settle(struct fleet *f, const struct engine_apart *apart)
{
    size_t i;

    f->apart = *apart;
    f->settling++;
    for (i = 0; i < SLOTS; i++)
        order_settle(f, &f->slots[i]);
    return f->settling;
}

bool fleet_settled(const struct fleet *f, uint64_t number)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        if (slot_runs(&f->slots[i]) && f->slots[i].settled < number)
            return false;
    return true;
}

void fleet_order_stretch(struct fleet *f, struct slot *slot)
{
    const double factor = f->budget.state.factor;

    fleet_order(f, slot, ORDER_STRETCH, &factor, sizeof(factor));
}

static void start(struct fleet *f, struct slot *slot, uint64_t now_ns)
{
    struct err err = {""};
    size_t i;

    if (!slot_start(slot, fleet_fastest_hz(f, now_ns) >= ENGINE_ONSITE_HZ, now_ns, &err)) {
        log_line(LOG_LEVEL_ERROR, "%s", err.text);
        return;
    }
    f->counts.started++;
    for (i = 0; i < f->bursts.count; i++)
        order_burst(f, slot, &f->bursts.all[i], now_ns);
    fleet_order_stretch(f, slot);
    if (f->settling > 0)
        order_settle(f, slot);
    if (f->late_ns != 0) /* what it sees belongs to the next interval */
        fleet_order_end(f, slot, false);
}

/* Looks whether a sampler still does its work, or may be started. */
static void look_at(struct fleet *f, struct slot *slot, uint64_t now_ns)
{
    enum helper_look look;

    if (!slot_runs(slot)) {
        if (slot->processes > 0 && now_ns >= slot->next_start_ns)
            start(f, slot, now_ns);
        return;
    }
    look = helper_look(&slot->helper, now_ns);
    if (look == HELPER_WELL)
        return;
    f->counts.blocked += look == HELPER_BLOCKED;
    f->counts.silent += look == HELPER_SILENT;
    if (look == HELPER_SILENT)
        log_line(LOG_LEVEL_WARNING, "a sampler did nothing for seconds and is started again");
    lose(f, slot, false, look == HELPER_BLOCKED);
}

struct slot *fleet_least_busy(struct fleet *f)
{
    enum { BUSY = 64 };
    struct slot *best = &f->slots[0];
    size_t i, load, least = SIZE_MAX;

    for (i = 0; i < f->slot_count; i++) {
        load = f->slots[i].processes + (f->slots[i].processes == 0 && i > 0 ? BUSY : 0);
        if (load < least) {
            least = load;
            best = &f->slots[i];
        }
    }
    return best;
}

static void send_take(struct fleet *f, struct charge *charge)
{
    struct order_take message;

    memset(&message, 0, sizeof(message));
    message.id = charge->id;
    message.choice = charge->choice;
    charge->sent = true;
    fleet_order(f, charge->slot, ORDER_TAKE, &message, sizeof(message));
}

/* A suspect has behaved well for a while. */
static void end_trial(struct fleet *f, struct charge *charge)
{
    fleet_order(f, charge->slot, ORDER_DROP, &charge->id, sizeof(charge->id));
    charges_move(charge, fleet_least_busy(f));
}

/* Gives a process to its sampler if it has not got it, and its time has come. */
static void look_after(struct fleet *f, struct charge *charge, uint64_t now_ns)
{
    bool apart = charge->slot == &f->slots[APART];

    if (apart && charge->sampling && now_ns > charge->began_ns + TRIAL_NS)
        end_trial(f, charge);
    if (!charge->sent && slot_runs(charge->slot) &&
        (!apart || now_ns >= charges_try_ns(&f->charges, charge)))
        send_take(f, charge);
}

void fleet_give(struct fleet *f, struct charge *charge, uint64_t now_ns)
{
    if (!slot_runs(charge->slot) && now_ns >= charge->slot->next_start_ns)
        start(f, charge->slot, now_ns);
    look_after(f, charge, now_ns);
}

void fleet_look(struct fleet *f, uint64_t now_ns)
{
    size_t i;

    for (i = 0; i < SLOTS; i++)
        look_at(f, &f->slots[i], now_ns);
    for (i = 0; i < f->charges.count; i++)
        look_after(f, &f->charges.items[i], now_ns);
    f->look_ns = now_ns + LOOK_NS;
}
