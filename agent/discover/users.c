/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - see users.h. */
#include "agent/discover/users.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/host/log.h"

bool users_number(const char *user, unsigned long *out)
{
    char *end;

    errno = 0;
    *out = strtoul(user, &end, 10);
    return user[0] >= '0' && user[0] <= '9' && *end == '\0' && errno == 0 && *out < UINT32_MAX;
}

static bool is_unknown(const char *user, struct proc_reader *reader)
{
    unsigned long number;
    uid_t uid;

    return user && !users_number(user, &number) &&
           proc_reader_user_id(reader, user, &uid) == PROC_READER_FAILED;
}

void users_each_unknown(const struct conf *conf, struct proc_reader *reader,
                        void (*each)(void *ctx, const char *where, const char *text), void *ctx)
{
    static const char *const keys[] = {"user", "exclude_user"};
    char where[128], text[512];

    for (size_t i = 0; i < conf->target_count; i++) {
        const struct conf_target *target = &conf->targets[i];
        const char *const users[] = {target->when.user, target->unless.user};

        for (size_t j = 0; j < 2; j++) {
            if (!is_unknown(users[j], reader))
                continue;
            (void)snprintf(where, sizeof(where), "[target %.64s] %s", target->name, keys[j]);
            (void)snprintf(text, sizeof(text), "there is no user %.255s, so it %s no process",
                           users[j], j == 0 ? "selects" : "leaves out");
            each(ctx, where, text);
        }
    }
}

static void log_unknown(void *ctx, const char *where, const char *text)
{
    (void)ctx;
    log_line(LOG_LEVEL_WARNING, "%s: %s; %s", where, text, USERS_CURE);
}

void users_log_unknown(const struct conf *conf, struct proc_reader *reader)
{
    users_each_unknown(conf, reader, log_unknown, NULL);
}
