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

/* The value of a variable, which is taken out of the environment; NULL: it is not set. */
static const char *taken_value(const char *name, bool *nomem)
{
    char *value = getenv(name);

    *nomem = false;
    if (value && *value) {
        const char *hidden = hide_variable(name, value);

        *nomem = !hidden;
        return hidden;
    }
    for (size_t i = taken_count; i-- > 0;)
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

/* Puts the variable that a secret names into its text. */
static bool from_env(struct exporter_secret *secret, struct err *err)
{
    bool nomem;

    secret->text = taken_value(secret->env, &nomem);
    if (nomem)
        err_set(err, "out of memory for the environment variable %s", secret->env);
    else if (!secret->text)
        err_set(err, "the environment variable %s is not set, or is empty: set it for pystrobe",
                secret->env);
    return secret->text != NULL;
}

/* Puts the path of the credential that a secret names into its file. */
static bool from_systemd(struct exporter_secret *secret, struct secrets *secrets, struct err *err)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY"), *name = secret->credential;
    char *path;

    if (!directory || directory[0] != '/') {
        err_set(err,
                "there is no credential %s, because CREDENTIALS_DIRECTORY is not set: put "
                "LoadCredential=%s:/PATH into the unit",
                name, name);
        return false;
    }
    if (secrets->path_count == SECRETS_PATHS_MAX || asprintf(&path, "%s/%s", directory, name) < 0) {
        err_set(err, "out of memory, or too many credentials: %s", name);
        return false;
    }
    secrets->paths[secrets->path_count++] = path;
    secret->file = path;
    return true;
}

static bool fetch(struct exporter_secret *secret, struct secrets *secrets, struct err *err)
{
    return (!secret->env || from_env(secret, err)) &&
           (!secret->credential || from_systemd(secret, secrets, err));
}

static bool fetch_headers(struct exporter_settings *settings, struct secrets *secrets,
                          struct err *err)
{
    bool good = true;

    secrets->headers = calloc(settings->secret_header_count + 1, sizeof(*secrets->headers));
    if (!secrets->headers) {
        err_set(err, "out of memory");
        return false;
    }
    for (size_t i = 0; good && i < settings->secret_header_count; i++) {
        secrets->headers[i] = settings->secret_headers[i];
        good = fetch(&secrets->headers[i].value, secrets, err);
    }
    settings->secret_headers = secrets->headers;
    return good;
}

bool secrets_fetch(struct exporter_settings *settings, struct secrets *out, struct err *err)
{
    *out = (struct secrets){0};
    return fetch(&settings->password, out, err) && fetch(&settings->token, out, err) &&
           fetch(&settings->proxy_login, out, err) && fetch_headers(settings, out, err);
}

void secrets_release(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->path_count; i++)
        free(secrets->paths[i]);
    free(secrets->headers);
    *secrets = (struct secrets){0};
}
