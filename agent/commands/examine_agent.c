/* SPDX-License-Identifier: Apache-2.0 */
/* examine_agent.c - asks the agent that runs whether its exporters keep up; see examine.h. */
#include <stdio.h>
#include <string.h>

#include "agent/commands/examine.h"
#include "agent/delivery/export_log.h"
#include "agent/host/exits.h"
#include "agent/serve/control_client.h"
#include "agent/serve/state.h"

/* Adds the finding for a line as state_exporters writes it; any other line is ignored. */
static void report_exporter(struct findings *out, const char *line)
{
    char pace[16], name[4 * STATE_NAME_MAX], figures[EXPORT_PACE_MAX], check[sizeof(name) + 16];
    bool good;

    if (sscanf(line, "%15[^\t\n]\t%1023[^\t\n]\t%191[^\n]", pace, name, figures) != 3)
        return;
    good = strcmp(pace, "keeps up") == 0;
    (void)snprintf(check, sizeof(check), "exporter %s", name);
    findings_add(out, good ? FINDING_GOOD : FINDING_NOTE, check, good ? "" : EXPORT_BEHIND_CURE,
                 "%s: %s", pace, figures);
}

void examine_agent(struct findings *out, const struct conf *conf)
{
    const char *path = conf->agent.control ? conf->agent.control : CONTROL_DEFAULT;
    const char *line, *end;
    struct buf answer;
    struct err err = {""};

    if (control_client_ask(path, &(struct control_request){.kind = CONTROL_EXPORTERS}, &answer,
                           &err) != EXIT_OK)
        findings_add(out, FINDING_NOTE, "agent",
                     "to learn whether exporters keep up, ask as root or pystrobe's user, while it "
                     "runs",
                     "%s", err.text);
    else
        for (line = buf_text(&answer); (end = strchr(line, '\n')); line = end + 1)
            report_exporter(out, line);
    buf_finish(&answer);
}
