/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_pull.c - what can be asked for as from a program in Go: its profile, and its stacks.
 *
 * Source: net/http/pprof of Go 1.22: parameters, headers and words of its answers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/host/escape.h"
#include "agent/host/version.h"
#include "agent/proc/owner.h"
#include "agent/sampling/service.h"
#include "agent/serve/web_internal.h"
#include "base/text.h"

enum { SECONDS_USUAL = 30, STACKS_MAX = 32, STACKS_SECONDS = 10, COMMIT_SECONDS = 10 };

void web_pull_index(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);

    buf_add_fmt(
        &answer->body,
        "%s\n\n"
        "/debug/pprof/profile?seconds=N[&target=NAME|&pid=PID][&rate=HZ]\n"
        "    what is sampled in the next N seconds (%d without; %d at most), as a pprof\n"
        "    with samples, wall, cpu, gil and wait: of a service or section, of a process,\n"
        "    or of all with a label for the service; HZ: sampled at least so often\n"
        "/debug/stacks[?target=NAME|?pid=PID]\n"
        "    the stacks of all threads, and the asyncio tasks\n",
        version_agent, SECONDS_USUAL, ON_DEMAND_SECONDS_MAX);
    buf_add_fmt(&answer->body, "\n%8s %s\n", "pid", "service");
    for (size_t i = 0; state && i < state->target_count; i++) {
        buf_add_fmt(&answer->body, "%8d ", (int)state->targets[i].pid);
        escape_add_str(&answer->body, state->targets[i].service);
        buf_add_str(&answer->body, "\n");
    }
    state_drop(state);
}

bool web_target(const struct web_request *request, struct web_answer *answer,
                char out[CONTROL_TARGET_MAX])
{
    const char *target = web_argument(request, "target");
    long pid = 0;

    out[0] = '\0';
    if (target && web_argument(request, "pid")) {
        web_refuse(answer, MHD_HTTP_BAD_REQUEST, "target and pid: one of them, please");
        return false;
    }
    if (!web_number(request, answer, "pid", 1, 99999999, &pid))
        return false;
    if (target && (target[0] == '\0' || strlen(target) >= CONTROL_TARGET_MAX)) {
        web_refuse(answer, MHD_HTTP_BAD_REQUEST,
                   "target: must be the name of a service or of a section");
        return false;
    }
    if (target)
        (void)snprintf(out, CONTROL_TARGET_MAX, "%s", target);
    else if (pid > 0)
        (void)snprintf(out, CONTROL_TARGET_MAX, "%ld", pid);
    return true;
}

static bool read_rate(const struct web_request *request, struct web_answer *answer, double *out)
{
    const char *text = web_argument(request, "rate");
    char *end;

    *out = 0;
    if (!text)
        return true;
    *out = strtod(text, &end);
    if (*text >= '0' && *text <= '9' && !*end && *out >= 0.1 && *out <= 1000)
        return true;
    web_refuse(answer, MHD_HTTP_BAD_REQUEST, "rate=%s: must be from 0.1 to 1000 Hz", text);
    return false;
}

static void refuse_pull(struct web_answer *answer, const struct on_demand_request *request,
                        enum on_demand_rc rc)
{
    switch (rc) {
    case ON_DEMAND_UNKNOWN:
        web_refuse(answer, MHD_HTTP_NOT_FOUND, "nothing that is sampled now is called %s",
                   request->target);
        break;
    case ON_DEMAND_BUSY:
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE,
                   "%d profiles are being made already, or too many bursts run", ON_DEMAND_MAX);
        break;
    case ON_DEMAND_FULL:
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR,
                   "the profile got larger than %d bytes: ask for fewer seconds, or one service",
                   ON_DEMAND_PROFILE_MAX);
        break;
    case ON_DEMAND_ENDED:
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "the agent ends, or leaves this address");
        break;
    case ON_DEMAND_OK:
    case ON_DEMAND_NOMEM:
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for this request");
        break;
    }
}

/* What scrapes it hands it on to a Pyroscope, which refuses a blank in the name of a text. */
static void encode_pulled_profile(const struct on_demand_request *request,
                                  const struct on_demand_answer *pulled, struct web_answer *answer)
{
    static const struct pprof_fit fit = {.renames = service_plain_names};
    char resolve_target[CONTROL_TARGET_MAX + 16];
    const char *comments[] = {version_agent, resolve_target};
    const struct pprof_meta meta = {
        .time_ns = pulled->start_utc_ns,
        .duration_ns = (int64_t)pulled->duration_ns,
        .period_type = service_types[VALUE_WALL],
        .period = (int64_t)pulled->period_ns,
        .default_type = service_types[VALUE_CPU].type,
        .comments = comments,
        .comment_count = request->target[0] ? 2 : 1,
    };
    struct pprof *fitted = NULL;
    enum pprof_rc rc = pprof_fit(pulled->profile, &fit, &fitted);

    (void)snprintf(resolve_target, sizeof(resolve_target), "target: %s", request->target);
    if (rc == PPROF_OK)
        rc = pprof_encode(fitted ? fitted : pulled->profile, &meta, &answer->body);
    pprof_free(fitted);
    if (rc != PPROF_OK) {
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for this request");
        return;
    }
    answer->type = "application/octet-stream";
    answer->name = "profile";
}

bool web_pull(const struct web_request *request, const struct on_demand_request *pull,
              struct web_answer *answer, struct on_demand_answer *out)
{
    enum on_demand_rc rc;

    web_takes(request, (unsigned)(pull->duration_ns / NS_PER_S) + COMMIT_SECONDS);
    rc = on_demand_ask(request->sources->on_demand, pull, request->stop, out);
    if (rc != ON_DEMAND_OK)
        refuse_pull(answer, pull, rc);
    return rc == ON_DEMAND_OK;
}

void web_pull_profile(const struct web_request *request, struct web_answer *answer)
{
    struct on_demand_request pull = {.rate_hz = 0};
    struct on_demand_answer pulled = {0};
    long seconds = SECONDS_USUAL;

    if (!web_target(request, answer, pull.target) ||
        !web_number(request, answer, "seconds", 1, ON_DEMAND_SECONDS_MAX, &seconds) ||
        !read_rate(request, answer, &pull.rate_hz))
        return;
    pull.duration_ns = (uint64_t)seconds * NS_PER_S;
    if (!web_pull(request, &pull, answer, &pulled))
        return;
    encode_pulled_profile(&pull, &pulled, answer);
    pprof_free(pulled.profile);
}

/* Adds what `pystrobe dump` prints of a process; with a word and its value more only if it can,
 * else also why it cannot. */
static void add_dump(const struct program *program, const char *word, const char *value,
                     const struct child_process_limits *limits, struct buf *out)
{
    char number[16], identity[PROGRAM_WORD_MAX];
    char *argv[] = {(char[]){"pystrobe"},
                    (char[]){"dump"},
                    (char[]){"--alone"},
                    (char[]){"--no-source"},
                    (char[]){"--pid"},
                    number,
                    (char[]){"--program"},
                    identity,
                    (char *)(uintptr_t)word,
                    (char *)(uintptr_t)value,
                    NULL};
    const struct child_process_command command = {CHILD_PROCESS_SELF, argv, .errors = !word,
                                                  .blamed = proc_owner(program->id.pid)};
    struct buf text;

    (void)snprintf(number, sizeof(number), "%d", (int)program->id.pid);
    program_format(program, identity);
    buf_init(&text, WEB_TEXT_MAX);
    if ((child_process_refuses(command.blamed) || !child_process_run(&command, limits, &text)) &&
        !word && text.size == 0)
        buf_add_fmt(&text, "process %d: it cannot be read now\n", (int)program->id.pid);
    buf_add(out, text.data, text.size);
    if (text.size > 0)
        buf_add_str(out, "\n");
    buf_finish(&text);
}

/* True if a target is what was asked for: its number, its service, a section of that, or "". */
static bool is_meant(const struct state *state, const struct state_target *target,
                     const char *asked)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%d", (int)target->pid);
    return asked[0] == '\0' || strcmp(asked, number) == 0 ||
           strcmp(state_service_of(state, asked), target->service) == 0;
}

void web_pull_stacks(const struct web_request *request, struct web_answer *answer)
{
    const struct child_process_limits limits = {clock_mono_ns() + STACKS_SECONDS * NS_PER_S,
                                                request->stop};
    struct state *state = state_share_get(request->sources->share);
    char resolve_target[CONTROL_TARGET_MAX];
    size_t i, count = 0, shown = STACKS_MAX;
    bool good = web_target(request, answer, resolve_target);

    web_takes(request, STACKS_SECONDS);
    for (i = 0; good && state && i < state->target_count; i++) {
        if (!is_meant(state, &state->targets[i], resolve_target) || count++ >= shown)
            continue;
        if (count > 1 && web_wait_s(request) > 0) { /* one is always shown */
            shown = count - 1;
            continue;
        }
        add_dump(&state->targets[i].program, NULL, NULL, &limits, &answer->body);
        add_dump(&state->targets[i].program, "--async", "all", &limits, &answer->body);
    }
    state_drop(state);
    if (count > shown)
        buf_add_fmt(&answer->body, "and %zu more %s\n", count - shown,
                    text_plural(count - shown, "process", "processes"));
    if (good && count == 0)
        web_refuse(answer, MHD_HTTP_NOT_FOUND, "nothing that is sampled now is called %s",
                   resolve_target[0] ? resolve_target : "anything");
}
