/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - knows which headers a user may set. */
#include "exporters/http/setup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exporters/http/curl_api.h"

enum { HEADER_LINE_MAX = 16 * 1024 };

enum exporter_rc http_setup_check_http2(struct err *err)
{
    const curl_version_info_data *about = libcurl.version_info(CURLVERSION_NOW);

    if (about && (about->features & CURL_VERSION_HTTP2) != 0)
        return EXPORTER_OK;
    err_set(err, "protocol: this libcurl was built without HTTP/2, which grpc needs: use "
                 "http/protobuf");
    return EXPORTER_BAD_CONFIG;
}

bool http_setup_breaks_http2(void)
{
    const curl_version_info_data *about = libcurl.version_info(CURLVERSION_NOW);

    return about && about->version_num >= 0x075700 && about->version_num < 0x080000;
}

enum exporter_rc http_setup_url(const char *url, const char *path, char **out, struct err *err)
{
    size_t size = url ? strlen(url) : 0;
    char *joined;

    if (size == 0) {
        err_set(err, "url: is not set");
        return EXPORTER_BAD_CONFIG;
    }
    while (size > 0 && url[size - 1] == '/')
        size--;
    joined = path ? NULL : strdup(url);
    if (path && asprintf(&joined, "%.*s/%s", (int)size, url, path) < 0)
        joined = NULL;
    if (!joined)
        return EXPORTER_NOMEM;
    *out = joined;
    return EXPORTER_OK;
}

/* RFC 9110, 5.6.2: what a header's name is made of. */
static bool is_token(const char *name)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return name[0] != '\0' && name[strspn(name, allowed)] == '\0';
}

static bool is_header_value(const char *value)
{
    for (const char *at = value; *at; at++) {
        if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    }
    return true;
}

/* Headers that the request itself depends on, or that another setting gives. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {
        "Content-Type", "Content-Length",    "Content-Encoding",    "Expect",
        "Connection",   "Transfer-Encoding", "User-Agent",          "TE",
        "grpc-timeout", "grpc-encoding",     "grpc-accept-encoding"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strcasecmp(name, ours[i]) == 0)
            return true;
    }
    return false;
}

/* In curl's notation: "Name: value" sends it, "Name;" sends it empty, "Name:" sends none. */
static enum exporter_rc append_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = libcurl.slist_append(*list, line);

    if (!longer)
        return EXPORTER_NOMEM;
    *list = longer;
    return EXPORTER_OK;
}

static enum exporter_rc append_header(struct curl_slist **list, const char *name, const char *value)
{
    const char *between = value[strspn(value, " \t")] == '\0' ? ";" : ": ";
    enum exporter_rc rc;
    char *line;

    if (asprintf(&line, "%s%s%s", name, between, between[0] == ';' ? "" : value) < 0)
        return EXPORTER_NOMEM;
    rc = append_line(list, line);
    free(line);
    return rc;
}

enum exporter_rc http_setup_check_header(const struct exporter_settings *settings,
                                         const struct label *header, struct err *err)
{
    const char *wrong = NULL;

    if (!header->name || !header->value || !is_token(header->name))
        wrong = "the name of a header has only letters, digits and !#$%&'*+-.^_`|~";
    else if (!is_header_value(header->value))
        wrong = "the value of a header has no control characters";
    else if (strlen(header->name) + strlen(header->value) > HEADER_LINE_MAX)
        wrong = "a header has at most 16 KiB";
    else if (is_ours(header->name))
        wrong = "pystrobe sets this header itself";
    else if (strcasecmp(header->name, "Authorization") == 0 &&
             (settings->user || settings->token.file || settings->token.text))
        wrong = "user and token_file set this header too: keep one of them";
    else if (strcasecmp(header->name, "X-Scope-OrgID") == 0 && settings->tenant)
        wrong = "tenant sets this header too: keep one of them";
    if (!wrong)
        return EXPORTER_OK;
    err_set(err, "header.%.64s: %s", header->name ? header->name : "", wrong);
    return EXPORTER_BAD_CONFIG;
}

static enum exporter_rc append_all(const struct exporter_settings *settings,
                                   const struct http_resource *resource, struct curl_slist **list,
                                   struct err *err)
{
    enum exporter_rc rc = append_header(list, "Content-Type", resource->content_type);

    if (rc == EXPORTER_OK && resource->content_encoding)
        rc = append_header(list, "Content-Encoding", resource->content_encoding);

    /* Else curl asks before a long body, and waits a second where nobody knows the question. */
    if (rc == EXPORTER_OK)
        rc = append_line(list, "Expect:");
    for (size_t i = 0; rc == EXPORTER_OK && i < resource->header_count; i++)
        rc = append_header(list, resource->headers[i].name, resource->headers[i].value);
    if (rc == EXPORTER_OK && settings->tenant)
        rc = append_header(list, "X-Scope-OrgID", settings->tenant);
    for (size_t i = 0; rc == EXPORTER_OK && i < settings->header_count; i++) {
        rc = http_setup_check_header(settings, &settings->headers[i], err);
        if (rc == EXPORTER_OK)
            rc = append_header(list, settings->headers[i].name, settings->headers[i].value);
    }
    for (size_t i = 0; rc == EXPORTER_OK && i < settings->secret_header_count; i++) {
        const struct label name = {settings->secret_headers[i].name, ""};

        rc = http_setup_check_header(settings, &name, err); /* its value is http_login's */
    }
    return rc;
}

enum exporter_rc http_setup_headers(const struct exporter_settings *settings,
                                    const struct http_resource *resource, struct curl_slist **out,
                                    struct err *err)
{
    struct curl_slist *list = NULL;
    enum exporter_rc rc;

    if (settings->tenant && (settings->tenant[0] == '\0' || !is_header_value(settings->tenant))) {
        err_set(err, "tenant: must not be empty or have control characters");
        return EXPORTER_BAD_CONFIG;
    }
    rc = append_all(settings, resource, &list, err);
    if (rc == EXPORTER_OK)
        *out = list;
    else
        libcurl.slist_free_all(list);
    return rc;
}
