/* SPDX-License-Identifier: Apache-2.0 */
/* examine_server.c - asks the servers of exporters; see examine.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/commands/examine.h"
#include "agent/delivery/publisher.h"
#include "agent/host/clock.h"
#include "exporters/exporter.h"

/* A server refuses profiles that are much older or newer than its clock says. */
#define SKEW_MAX_S 60

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* What did not come about, and what to look at. */
static const struct {
    const char *name, *cure;
} steps[] = {
    [EXPORTER_STEP_NAME] = {"name", "look at the host of url, and at the name server "
                                    "(/etc/resolv.conf)"},
    [EXPORTER_STEP_CONNECTION] = {"connection", "is the server up, the port of url right, and no "
                                                "firewall between?"},
    [EXPORTER_STEP_TLS] = {"TLS", "give the server a certificate for that name by a known "
                                  "authority, or name the authority's in ca_file; look at the "
                                  "clock, too"},
    [EXPORTER_STEP_ANSWER] = {"answer", "look at the server's log, and at timeout"},
};

static void report_answer(struct findings *out, const char *check,
                          const struct exporter_probe *probe)
{
    long status = probe->status;

    if (probe->rc == EXPORTER_OK)
        findings_add(out, FINDING_GOOD, check, "", "login and path are fine (%ld)", status);
    else if (status == 401 || status == 403)
        findings_add(out, FINDING_BAD, check,
                     "set token_file, or user and password_file, and tenant, as the server wants "
                     "them",
                     "login: the server refuses it (%ld)", status);
    else if (status == 407)
        findings_add(out, FINDING_BAD, check, "set proxy_login_file",
                     "login: the proxy refuses it (407)");
    else if (status < 400 || status == 404 || status == 405 || status == 415)
        findings_add(out, FINDING_BAD, check,
                     "look at the path of url, whether the server is of that type, and for a proxy "
                     "or a login page between",
                     "it is not a server of this type: %s", probe->err.text);
    else if (probe->rc == EXPORTER_RETRY)
        findings_add(out, FINDING_NOTE, check, "", "it takes nothing just now: %s",
                     probe->err.text);
    else
        findings_add(out, FINDING_BAD, check,
                     "do as the server says, and look at its log and at tenant",
                     "it refuses an empty profile: %s", probe->err.text);
}

/* What goes by OTLP keeps within no limits of the server's, unless it is told to. */
static void report_pyroscope(struct findings *out, const char *check,
                             const struct exporter_settings *conf)
{
    struct exporter *exporter = NULL;
    struct exporter_probe probe;
    struct err err = {""};

    if (conf->type->is_pyroscope || exporter_is_limited(conf) ||
        publisher_as_pyroscope(conf, &exporter, &err) != EXPORTER_OK)
        return;
    if (exporter_probe(exporter, clock_utc_ns(), &probe) && probe.rc == EXPORTER_OK)
        findings_add(out, FINDING_NOTE, check, "set limits = pyroscope",
                     "the server is a Pyroscope, which refuses or cuts what is over its limits");
    exporter_close(exporter);
}

static void report_clock(struct findings *out, const char *check, int64_t date_ns, int64_t now_ns)
{
    int64_t skew_s = (now_ns - date_ns) / (int64_t)NS_PER_S;

    if (date_ns == 0)
        return;
    if (llabs(skew_s) > SKEW_MAX_S)
        findings_add(out, FINDING_BAD, check, "set the clock: timedatectl set-ntp true",
                     "clock: this host's is %" PRId64 " s %s the server's", (int64_t)llabs(skew_s),
                     skew_s > 0 ? "ahead of" : "behind");
    else
        findings_add(out, FINDING_GOOD, check, "", "clock: as the server's");
}

static void examine_server(struct findings *out, const struct exporter_settings *conf)
{
    struct exporter *exporter = NULL;
    struct exporter_probe probe;
    struct err err = {""};
    char check[128];

    (void)snprintf(check, sizeof(check), "exporter %s", conf->name);
    if (publisher_exporter(conf, &exporter, &err) != EXPORTER_OK) {
        findings_add(out, FINDING_BAD, check, EXAMINE_SETTING_CURE, "%s", err.text);
    } else if (exporter_probe(exporter, clock_utc_ns(), &probe)) {
        if (probe.status == 0)
            findings_add(out, FINDING_BAD, check, steps[probe.step].cure, "%s: %s",
                         steps[probe.step].name, probe.err.text);
        else
            findings_add(out, FINDING_GOOD, check, "",
                         "name %.1f ms, connection %.1f ms, %s%.1f ms, answer %.1f ms",
                         ms(probe.resolved_ns), ms(probe.connected_ns),
                         probe.secure ? "TLS " : "no TLS ", ms(probe.secured_ns),
                         ms(probe.answered_ns));
        if (probe.status != 0)
            report_answer(out, check, &probe);
        if (probe.rc == EXPORTER_OK)
            report_pyroscope(out, check, conf);
        report_clock(out, check, probe.status ? probe.date_ns : 0, clock_utc_ns());
    }
    exporter_close(exporter);
}

void examine_servers(struct findings *out, const struct conf *conf)
{
    const struct exporter_settings *wanted;
    size_t i, count = publisher_wanted(conf, &wanted);

    for (i = 0; i < count; i++)
        if (wanted[i].type->needs_url)
            examine_server(out, &wanted[i]);
}
