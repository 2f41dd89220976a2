/* SPDX-License-Identifier: Apache-2.0 */
/* secrets.c - see secrets.h. */
#include "agent/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/hidden.h"

enum { TAKEN_MAX = 64 };

/* A variable that was taken out of the environment. */
struct taken {
    char *name;  /* owned, as all that is here until the process ends */
    char *value; /* in hidden memory */
};

static struct taken taken[TAKEN_MAX];
static size_t taken_count;

/*
 * The block that the kernel has given us is in core files, and in /proc/PID/environ:
 * so the value is wiped there, and lives on where neither shows it.
 */
static const char *take(const char *name, char *value)
{
    struct taken *entry = &taken[taken_count];

    if (taken_count == TAKEN_MAX)
        return NULL;
    entry->name = strdup(name);
    entry->value = hidden_strdup(value);
    if (!entry->name || !entry->value) {
        free(entry->name);
        hidden_free(entry->value);
        return NULL;
    }
    explicit_bzero(value, strlen(value));
    taken_count++;
    return entry->value;
}

/* Gives: false if there is no such variable. Without a name there is nothing to do. */
static bool from_env(const char *name, const char **out, struct err *err)
{
    char *value = name ? getenv(name) : NULL;

    if (!name)
        return true;
    if (value && *value) {
        *out = take(name, value);
        if (!*out)
            err_set(err, "out of memory for the environment variable %s", name);
        return *out != NULL;
    }
    for (size_t i = 0; i < taken_count; i++)
        if (strcmp(taken[i].name, name) == 0) {
            *out = taken[i].value;
            return true;
        }
    err_set(err, "there is no environment variable %s", name);
    return false;
}

static bool from_systemd(const char *name, const char **out, struct secrets *secrets,
                         struct err *err)
{
    const char *directory = name ? getenv("CREDENTIALS_DIRECTORY") : NULL;
    char *path;

    if (!name)
        return true;
    if (!directory || directory[0] != '/') {
        err_set(err,
                "there is no credential %s: systemd gives it with LoadCredential=%s:/PATH in the "
                "unit",
                name, name);
        return false;
    }
    if (secrets->path_count == SECRETS_PATHS_MAX || asprintf(&path, "%s/%s", directory, name) < 0) {
        err_set(err, "out of memory for the credential %s", name);
        return false;
    }
    secrets->paths[secrets->path_count++] = path;
    *out = path;
    return true;
}

static bool fetch_headers(const struct conf_exporter *conf, struct exporter_settings *settings,
                          struct secrets *secrets, struct err *err)
{
    secrets->headers = calloc(conf->secret_header_count + 1, sizeof(*secrets->headers));
    if (!secrets->headers) {
        err_set(err, "out of memory");
        return false;
    }
    for (size_t i = 0; i < conf->secret_header_count; i++) {
        const struct conf_secret_header *from = &conf->secret_headers[i];
        struct exporter_secret_header *to = &secrets->headers[i];

        *to = (struct exporter_secret_header){.name = from->name, .file = from->file};
        if (!from_env(from->env, &to->text, err) ||
            !from_systemd(from->credential, &to->file, secrets, err))
            return false;
    }
    settings->secret_headers = secrets->headers;
    settings->secret_header_count = conf->secret_header_count;
    return true;
}

bool secrets_fetch(const struct conf_exporter *conf, struct exporter_settings *settings,
                   struct secrets *out, struct err *err)
{
    *out = (struct secrets){0};
    settings->password_file = conf->password_file;
    settings->token_file = conf->token_file;
    settings->proxy_login_file = conf->proxy_login_file;
    return from_env(conf->password_env, &settings->password, err) &&
           from_env(conf->token_env, &settings->token, err) &&
           from_env(conf->proxy_login_env, &settings->proxy_login, err) &&
           from_systemd(conf->password_credential, &settings->password_file, out, err) &&
           from_systemd(conf->token_credential, &settings->token_file, out, err) &&
           from_systemd(conf->proxy_login_credential, &settings->proxy_login_file, out, err) &&
           fetch_headers(conf, settings, out, err);
}

void secrets_release(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->path_count; i++)
        free(secrets->paths[i]);
    free(secrets->headers);
    *secrets = (struct secrets){0};
}
