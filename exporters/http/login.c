/* SPDX-License-Identifier: Apache-2.0 */
/* login.c - see login.h. */
#include "exporters/http/login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporters/http/curl_api.h"
#include "exporters/http/hidden.h"
#include "exporters/http/secret.h"

enum { SCRUB_LEAST = 4 };

/* A secret. One that is not set has neither file nor text. */
struct held {
    char *file; /* owned; NULL: it is not from a file and stays as it is */
    char *text; /* owned: secret_free; NULL with a file: it is missing so far */
};

struct held_header {
    char *name; /* owned */
    struct held value;
};

struct http_login {
    char *user; /* owned; NULL: no basic authentication */
    struct held password, token, proxy;
    struct held_header *headers; /* owned */
    size_t header_count;
};

static enum exporter_rc hold(struct held *held, const char *what,
                             const struct exporter_secret *from, struct err *err)
{
    if (from->file) {
        held->file = strdup(from->file);
        return held->file ? EXPORTER_OK : EXPORTER_NOMEM;
    }
    return from->text ? secret_copy(what, from->text, &held->text, err) : EXPORTER_OK;
}

/* Says what is wrong with a proxy's login, if it is there. */
static bool is_bad_proxy_login(const struct held *held, struct err *err)
{
    if (!held->text || strchr(held->text, ':'))
        return false;
    err_set(err, "proxy_login: must be USER:PASSWORD");
    return true;
}

static enum exporter_rc hold_proxy_login(struct held *held, const struct exporter_secret *from,
                                         struct err *err)
{
    enum exporter_rc rc = hold(held, "proxy_login", from, err);

    return rc == EXPORTER_OK && is_bad_proxy_login(held, err) ? EXPORTER_BAD_CONFIG : rc;
}

/* Reads a secret that is missing so far. */
static enum exporter_rc fetch_secret(struct held *held, const char *what, bool *changed,
                                     struct err *err)
{
    enum exporter_rc rc;

    if (!held->file || held->text)
        return EXPORTER_OK;
    rc = secret_read(held->file, &held->text, err);
    if (rc == EXPORTER_RETRY)
        err_within(err, "%s", what);
    *changed = *changed || rc == EXPORTER_OK;
    return rc;
}

static enum exporter_rc fetch_proxy_login(struct held *held, bool *changed, struct err *err)
{
    enum exporter_rc rc = fetch_secret(held, "proxy_login", changed, err);

    if (rc != EXPORTER_OK || !is_bad_proxy_login(held, err))
        return rc;
    secret_free(held->text);
    held->text = NULL;
    return EXPORTER_RETRY;
}

enum exporter_rc http_login_complete(struct http_login *login, bool *changed, struct err *err)
{
    enum exporter_rc rc;

    *changed = false;
    rc = fetch_secret(&login->password, "password", changed, err);
    if (rc == EXPORTER_OK)
        rc = fetch_secret(&login->token, "token", changed, err);
    if (rc == EXPORTER_OK)
        rc = fetch_proxy_login(&login->proxy, changed, err);
    for (size_t i = 0; rc == EXPORTER_OK && i < login->header_count; i++)
        rc = fetch_secret(&login->headers[i].value, login->headers[i].name, changed, err);
    return rc;
}

static void free_held_secret(struct held *held)
{
    free(held->file);
    secret_free(held->text);
}

static const char *why_bad(const struct exporter_settings *settings)
{
    bool password = settings->password.file || settings->password.text;
    bool token = settings->token.file || settings->token.text;

    if (settings->user && token)
        return "user and token_file: only one way to log in can be used";
    if (settings->user && !password)
        return "user: needs password_file";
    if (password && !settings->user)
        return "password_file: needs user";
    if (settings->user && strchr(settings->user, ':'))
        return "user: must have no colon and no control characters";
    for (const char *at = settings->user; at && *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return "user: must have no colon and no control characters";
    return NULL;
}

static enum exporter_rc hold_headers(struct http_login *login,
                                     const struct exporter_settings *settings, struct err *err)
{
    enum exporter_rc rc = EXPORTER_OK;

    login->headers = calloc(settings->secret_header_count + 1, sizeof(*login->headers));
    if (!login->headers)
        return EXPORTER_NOMEM;
    for (size_t i = 0; rc == EXPORTER_OK && i < settings->secret_header_count; i++) {
        const struct exporter_secret_header *header = &settings->secret_headers[i];
        struct held_header *held = &login->headers[login->header_count++];

        held->name = strdup(header->name);
        rc = held->name ? hold(&held->value, header->name, &header->value, err) : EXPORTER_NOMEM;
    }
    return rc;
}

static enum exporter_rc hold_all(struct http_login *login, const struct exporter_settings *settings,
                                 struct err *err)
{
    enum exporter_rc rc;
    bool changed;

    if (settings->user) {
        login->user = strdup(settings->user);
        if (!login->user)
            return EXPORTER_NOMEM;
    }
    rc = hold(&login->password, "password", &settings->password, err);
    if (rc == EXPORTER_OK)
        rc = hold(&login->token, "token", &settings->token, err);
    if (rc == EXPORTER_OK)
        rc = hold_proxy_login(&login->proxy, &settings->proxy_login, err);
    if (rc == EXPORTER_OK)
        rc = hold_headers(login, settings, err);
    if (rc == EXPORTER_OK)
        rc = http_login_complete(login, &changed, err);
    return rc == EXPORTER_RETRY && settings->may_wait ? EXPORTER_OK : rc;
}

enum exporter_rc http_login_open(const struct exporter_settings *settings, struct http_login **out,
                                 struct err *err)
{
    const char *wrong = why_bad(settings);
    struct http_login *login;
    enum exporter_rc rc;

    if (wrong) {
        err_set(err, "%s", wrong);
        return EXPORTER_BAD_CONFIG;
    }
    login = calloc(1, sizeof(*login));
    if (!login)
        return EXPORTER_NOMEM;
    rc = hold_all(login, settings, err);
    if (rc == EXPORTER_OK)
        *out = login;
    else
        http_login_close(login);
    return rc;
}

void http_login_close(struct http_login *login)
{
    if (!login)
        return;
    for (size_t i = 0; i < login->header_count; i++) {
        free(login->headers[i].name);
        free_held_secret(&login->headers[i].value);
    }
    free(login->headers);
    free_held_secret(&login->password);
    free_held_secret(&login->token);
    free_held_secret(&login->proxy);
    free(login->user);
    free(login);
}

/* Apart, as a URL has no place for every character of a password. */
static CURLcode apply_proxy(const char *text, CURL *easy)
{
    char *user = hidden_strdup(text), *colon = user ? strchr(user, ':') : NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (colon) {
        *colon = '\0';
        code = libcurl.easy_setopt(easy, CURLOPT_PROXYUSERNAME, user);
        CURL_SET(code, easy, CURLOPT_PROXYPASSWORD, colon + 1);
    }
    hidden_free(user);
    return code;
}

/* Both ways are sent at once, without asking what the server would like. */
CURLcode http_login_apply(const struct http_login *login, CURL *easy)
{
    CURLcode code = CURLE_OK;

    if (login->user) {
        code = libcurl.easy_setopt(easy, CURLOPT_HTTPAUTH, (unsigned long)CURLAUTH_BASIC);
        CURL_SET(code, easy, CURLOPT_USERNAME, login->user);
        CURL_SET(code, easy, CURLOPT_PASSWORD, login->password.text);
    } else if (login->token.text) {
        code = libcurl.easy_setopt(easy, CURLOPT_HTTPAUTH, (unsigned long)CURLAUTH_BEARER);
        CURL_SET(code, easy, CURLOPT_XOAUTH2_BEARER, login->token.text);
    }
    if (code == CURLE_OK && login->proxy.text)
        code = apply_proxy(login->proxy.text, easy);
    return code;
}

static bool append_header_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = libcurl.slist_append(*list, line);

    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool append_secret(struct curl_slist **list, const struct held_header *header)
{
    size_t size = strlen(header->name) + strlen(header->value.text) + sizeof(": ");
    char *line = hidden_malloc(size);
    bool good = line != NULL;

    if (good)
        (void)snprintf(line, size, "%s: %s", header->name, header->value.text);
    good = good && append_header_line(list, line);
    hidden_free(line);
    return good;
}

bool http_login_headers(const struct http_login *login, const struct curl_slist *plain,
                        struct curl_slist **out)
{
    struct curl_slist *list = NULL;
    bool good = true;

    for (; good && plain; plain = plain->next)
        good = append_header_line(&list, plain->data);
    for (size_t i = 0; good && i < login->header_count; i++)
        good = !login->headers[i].value.text || append_secret(&list, &login->headers[i]);
    if (good)
        *out = list;
    else
        libcurl.slist_free_all(list);
    return good;
}

static bool reread_secret_file(struct held *held)
{
    char *fresh;

    if (!held->file || !held->text || secret_read(held->file, &fresh, NULL) != EXPORTER_OK)
        return false;
    if (strcmp(fresh, held->text) == 0) {
        secret_free(fresh);
        return false;
    }
    secret_free(held->text);
    held->text = fresh;
    return true;
}

/* A proxy's login that has lost its colon by now could not be given to libcurl. */
static bool renew_proxy(struct held *held)
{
    char *before = held->text ? hidden_strdup(held->text) : NULL;
    bool renewed = before && reread_secret_file(held);

    if (renewed && !strchr(held->text, ':')) {
        secret_free(held->text);
        held->text = before;
        return false;
    }
    secret_free(before);
    return renewed;
}

bool http_login_renew(struct http_login *login)
{
    bool renewed = reread_secret_file(&login->password);

    renewed = reread_secret_file(&login->token) || renewed;
    renewed = renew_proxy(&login->proxy) || renewed;
    for (size_t i = 0; i < login->header_count; i++)
        renewed = reread_secret_file(&login->headers[i].value) || renewed;
    return renewed;
}

/* Also a beginning at the end of the words, as they are cut. A secret that is shorter is none. */
static void scrub_text(char *words, size_t size, const char *secret)
{
    size_t length = secret ? strlen(secret) : 0, at, here;

    if (length < SCRUB_LEAST)
        return;
    for (at = 0; at + SCRUB_LEAST <= size; at++) {
        here = length < size - at ? length : size - at;
        if (memcmp(words + at, secret, here) == 0)
            memset(words + at, '*', here);
    }
}

/* What comes after the name of a way to log in, whatever it is: base64 is not searched for. */
static void scrub_login(char *words, size_t size, const char *way)
{
    size_t length = strlen(way), at, end;

    for (at = 0; at + length < size; at++) {
        if (strncasecmp(words + at, way, length) != 0)
            continue;
        for (end = at + length; end < size && !strchr(" \t\r\n,;\"'<>(){}[]", words[end]); end++)
            words[end] = '*';
    }
}

void http_login_scrub(const struct http_login *login, void *words, size_t size)
{
    const char *colon = login->proxy.text ? strchr(login->proxy.text, ':') : NULL;

    scrub_login(words, size, "basic ");
    scrub_login(words, size, "bearer ");
    scrub_text(words, size, login->password.text);
    scrub_text(words, size, login->token.text);
    scrub_text(words, size, login->proxy.text);
    scrub_text(words, size, colon ? colon + 1 : NULL);
    for (size_t i = 0; i < login->header_count; i++)
        scrub_text(words, size, login->headers[i].value.text);
}
