/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_api.c - what the page shows, as JSON: the agent's state, what the store holds, the threads
 * of a process, and a flame graph of the next seconds. What the store holds also as a pprof file.
 *
 * The store is read, and profiles of it are added up, by a process of its own (cmd_browse.c), of
 * which there are BROWSERS_MAX at a time: what a page asks for cannot hold up sampling or
 * delivery, whatever there is to add up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/child/child_process.h"
#include "agent/host/clock.h"
#include "agent/proc/owner.h"
#include "agent/report/flame_json.h"
#include "agent/sampling/service.h"
#include "agent/serve/web_internal.h"
#include "agent/serve/web_query.h"

enum {
    BROWSERS_MAX = 2,
    STORE_QUERY_SECONDS = 10,
    THREADS_SECONDS = 5,
    SAMPLE_SECONDS_MAX = 60,
    SAMPLE_NODES_MAX = 50000
};

static const char json[] = "application/json; charset=utf-8";

/* The store's path, for one more reader of it. NULL: see the answer. Gives: it, for leave_store. */
static char *enter_store(const struct web_request *request, struct web_answer *answer)
{
    struct web_store *store = request->store;
    bool busy, none;
    char *path = NULL;

    (void)pthread_mutex_lock(&store->lock);
    none = !store->path;
    busy = store->readers >= BROWSERS_MAX;
    if (!none && !busy)
        path = strdup(store->path);
    store->readers += path != NULL;
    (void)pthread_mutex_unlock(&store->lock);
    if (none)
        web_refuse(answer, MHD_HTTP_NOT_FOUND, "there is no exporter of type store");
    else if (busy)
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "%d others read the store", BROWSERS_MAX);
    else if (!path)
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for this request");
    return path;
}

static void leave_store(const struct web_request *request, char *path)
{
    free(path);
    (void)pthread_mutex_lock(&request->store->lock);
    request->store->readers--;
    (void)pthread_mutex_unlock(&request->store->lock);
}

/* The answer is what a command prints, or the reason that it prints when it fails. */
static void answer_printed(const struct web_request *request,
                           const struct child_process_command *command, unsigned seconds,
                           struct web_answer *answer)
{
    const struct child_process_limits limits = {clock_mono_ns() + seconds * NS_PER_S,
                                                request->stop};
    struct buf *body = &answer->body;
    char reason[400];

    web_takes(request, seconds);
    if (child_process_run(command, &limits, body)) {
        answer->type = json;
        return;
    }
    (void)snprintf(reason, sizeof(reason), "%.*s", (int)(body->size < 300 ? body->size : 0),
                   buf_text(body));
    if (body->size > 0 && body->data[0] != '{' && body->data[0] >= ' ')
        web_refuse(answer, MHD_HTTP_NOT_FOUND, "%s", reason);
    else
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "that took too long, or too much");
}

void web_api_services(const struct web_request *request, struct web_answer *answer)
{
    char *path = enter_store(request, answer);
    char *argv[] = {(char[]){"pystrobe"}, (char[]){"browse"}, (char[]){"services"}, path, NULL};
    const struct child_process_command command = {CHILD_PROCESS_SELF, argv, .errors = false};

    if (!path)
        return;
    answer_printed(request, &command, STORE_QUERY_SECONDS, answer);
    leave_store(request, path);
}

static const char *get_word(const void *ctx, const char *name)
{
    return web_argument(ctx, name);
}

/* Answers from what the store has of a range: a graph may be of a difference. */
static void answer_range(const struct web_request *request, const char *what,
                         struct web_answer *answer)
{
    const struct web_words words = {get_word, request};
    struct web_command command;
    const struct child_process_command run = {CHILD_PROCESS_SELF, command.argv, .errors = false};
    struct web_query query;
    struct err err = {""};
    char *path;

    if (!web_query_read(&words, &query, &err)) {
        web_refuse(answer, MHD_HTTP_BAD_REQUEST, "%s", err.text);
        return;
    }
    path = enter_store(request, answer);
    if (!path)
        return;
    query.compares = query.compares && strcmp(what, "graph") == 0;
    if (strcmp(what, "timeline") == 0)
        query.type[0] = '\0';
    web_query_command(path, query.compares ? "difference" : what, &query, &command);
    answer_printed(request, &run, STORE_QUERY_SECONDS, answer);
    leave_store(request, path);
}

void web_api_timeline(const struct web_request *request, struct web_answer *answer)
{
    answer_range(request, "timeline", answer);
}

void web_api_graph(const struct web_request *request, struct web_answer *answer)
{
    answer_range(request, "graph", answer);
}

void web_api_profile(const struct web_request *request, struct web_answer *answer)
{
    answer_range(request, "profile", answer);
    if (answer->status == MHD_HTTP_OK) {
        answer->type = "application/octet-stream";
        answer->name = "profile.pb.gz";
    }
}

void web_api_state(const struct web_request *request, struct web_answer *answer)
{
    struct state *state = state_share_get(request->sources->share);

    if (state) {
        state_json(state, &answer->body);
        answer->type = json;
    } else {
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "not yet");
    }
    state_drop(state);
}

/* The program of a process that is a target. False: it is none. */
static bool find_target(const struct web_request *request, pid_t pid, struct program *out)
{
    struct state *state = state_share_get(request->sources->share);
    bool found = false;

    for (size_t i = 0; state && i < state->target_count && !found; i++) {
        found = state->targets[i].pid == pid;
        if (found)
            *out = state->targets[i].program;
    }
    state_drop(state);
    return found;
}

void web_api_threads(const struct web_request *request, struct web_answer *answer)
{
    char number[16], word[PROGRAM_WORD_MAX];
    char *argv[] = {(char[]){"pystrobe"},
                    (char[]){"dump"},
                    (char[]){"--alone"},
                    (char[]){"--json"},
                    (char[]){"--pid"},
                    number,
                    (char[]){"--program"},
                    word,
                    NULL};
    struct child_process_command command = {CHILD_PROCESS_SELF, argv, .errors = false};
    struct program program;
    long pid = 0;

    if (!web_number(request, answer, "pid", 1, 99999999, &pid))
        return;
    if (!find_target(request, (pid_t)pid, &program)) {
        web_refuse(answer, MHD_HTTP_NOT_FOUND, "no process %ld is sampled now", pid);
        return;
    }
    (void)snprintf(number, sizeof(number), "%ld", pid);
    program_format(&program, word);
    command.blamed = proc_owner((pid_t)pid);
    if (child_process_refuses(command.blamed))
        web_refuse(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "process %ld cannot be read now", pid);
    else
        answer_printed(request, &command, THREADS_SECONDS, answer);
}

/* Appends the flame graph of a pulled profile. */
static enum pprof_rc add_pulled_graph(const struct on_demand_answer *pulled, const char *title,
                                      struct buf *out)
{
    struct format_view view = {.profile = pulled->profile,
                               .type = VALUE_CPU,
                               .base = FORMAT_NO_BASE,
                               .title = title,
                               .time_ns = pulled->start_utc_ns,
                               .duration_ns = (int64_t)pulled->duration_ns,
                               .period = (int64_t)pulled->period_ns};
    enum pprof_rc rc;

    buf_add_str(out, "{");
    rc = flame_json(&view, SAMPLE_NODES_MAX, out);
    buf_add_str(out, "}\n");
    return rc;
}

void web_api_sample(const struct web_request *request, struct web_answer *answer)
{
    struct on_demand_request pull = {.rate_hz = 0};
    struct on_demand_answer pulled = {0};
    long seconds = 5;

    if (!web_target(request, answer, pull.target) ||
        !web_number(request, answer, "seconds", 1, SAMPLE_SECONDS_MAX, &seconds))
        return;
    pull.duration_ns = (uint64_t)seconds * NS_PER_S;
    if (!web_pull(request, &pull, answer, &pulled))
        return;
    if (add_pulled_graph(&pulled, pull.target, &answer->body) == PPROF_OK)
        answer->type = json;
    else
        web_refuse(answer, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory for this request");
    pprof_free(pulled.profile);
}
