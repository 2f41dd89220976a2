/* SPDX-License-Identifier: Apache-2.0 */
/* secrets.c - see secrets.h. */
#include "agent/delivery/secrets.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAKEN_MAX = 64 };

/* A variable that was taken out of the environment. */
struct taken {
    char *name;  /* owned, as all that is here until the process ends */
    char *value; /* an exporter_hide */
};

static struct taken taken[TAKEN_MAX];
static size_t taken_count;

/*
 * The block that the kernel has given us is in core files, and in /proc/PID/environ:
 * so the value is wiped there, and lives on where neither shows it.
 */
static const char *hide_variable(const char *name, char *value)
{
    struct taken *entry = &taken[taken_count];

    if (taken_count == TAKEN_MAX)
        return NULL;
    entry->name = strdup(name);
    entry->value = exporter_hide(value);
    if (!entry->name || !entry->value) {
        free(entry->name);
        exporter_forget(entry->value);
        return NULL;
    }
    explicit_bzero(value, strlen(value));
    taken_count++;
    return entry->value;
}

/* The value of a variable, which is taken out of the environment; NULL: there is none. */
static const char *taken_value(const char *name, bool *nomem)
{
    char *value = getenv(name);
    size_t i;

    *nomem = false;
    if (value && *value) {
        const char *hidden = hide_variable(name, value);

        *nomem = !hidden;
        return hidden;
    }
    for (i = taken_count; i-- > 0;)
        if (strcmp(taken[i].name, name) == 0)
            return taken[i].value;
    return NULL;
}

char *secrets_getenv(const char *name)
{
    static const char secret[] = "_HEADERS";
    size_t size = strlen(name), end = sizeof(secret) - 1;
    bool nomem;

    if (size < end || strcmp(name + size - end, secret) != 0)
        return getenv(name);
    return (char *)(uintptr_t)taken_value(name, &nomem); /* nobody writes there */
}

/* Gives: false if there is no such variable. Without a name there is nothing to do. */
static bool from_env(const char *name, const char **out, struct err *err)
{
    const char *value;
    bool nomem;

    if (!name)
        return true;
    value = taken_value(name, &nomem);
    if (value)
        *out = value;
    else if (nomem)
        err_set(err, "out of memory for the environment variable %s", name);
    else
        err_set(err, "there is no environment variable %s", name);
    return value != NULL;
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
