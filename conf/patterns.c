/* SPDX-License-Identifier: Apache-2.0 */
/* patterns.c - see patterns.h. */
#include "conf/patterns.h"

#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "conf/text.h"
#include "conf/values.h"
#include "exporters/file_name.h"

enum { REGEX_DEPTH_MAX = 32, REGEX_SIZE_MAX = 2000 };

static enum conf_rc refuse_pattern(struct err *err, const char *text, const char *why)
{
    char shown[CONF_QUOTE_MAX];

    err_set(err, "%s %s", conf_quote(shown, text), why);
    return CONF_BAD;
}

/* CONF_OK where there is nothing to say. */
static enum conf_rc verdict(const char *why, struct err *err)
{
    if (!why)
        return CONF_OK;
    err_set(err, "%s", why);
    return CONF_BAD;
}

/*
 * What regcomp would make of an expression. glibc copies what "+" and {n,m} repeat,
 * copies of copies multiply, and "a" with forty "+" takes gigabytes (the fuzzer found it).
 */
struct growth {
    unsigned long size[REGEX_DEPTH_MAX + 1]; /* atoms of each open group, copies counted */
    unsigned long last;                      /* of the atom before this place */
    size_t depth;
};

static void add_atom_size(struct growth *growth, unsigned long atom)
{
    growth->size[growth->depth] += atom;
    growth->last = atom;
}

/* Makes `copies` of the last atom where there was one. */
static void repeat(struct growth *growth, unsigned long copies)
{
    if (copies > REGEX_SIZE_MAX)
        copies = REGEX_SIZE_MAX + 1;
    growth->size[growth->depth] += growth->last * (copies - 1);
    growth->last *= copies;
}

/* The copies that "{n}", "{n,}" or "{n,m}" at `text` makes; *end is its "}" if it is one. */
static unsigned long read_copies(const char *text, const char **end)
{
    char *rest;
    unsigned long n = strtoul(text + 1, &rest, 10), m;

    if (*rest == ',') {
        m = strtoul(rest + 1, &rest, 10);
        n = m > n ? m : n + 1;
    }
    if (*rest != '}')
        return 1;
    *end = rest;
    return n > 0 ? n : 1;
}

/* The last character of the bracket expression at `text`. */
static const char *end_of_bracket(const char *text)
{
    const char *at = text + 1, *inner;

    at += *at == '^';
    at += *at == ']';
    for (; *at && *at != ']'; at++) {
        if (*at != '[' || !at[1] || !strchr(":.=", at[1]))
            continue;
        inner = strchr(at + 2, ']');
        at = inner && inner[-1] == at[1] ? inner : at + 1;
    }
    return *at ? at : at - 1;
}

/* Takes one element of the expression; gives its last character. */
static const char *take_element(struct growth *growth, const char *text)
{
    unsigned long copies;

    switch (*text) {
    case '(':
        growth->size[++growth->depth] = growth->last = 0;
        return text;
    case ')':
        if (growth->depth > 0)
            growth->depth--;
        add_atom_size(growth, growth->size[growth->depth + 1] + 1);
        return text;
    case '+':
        repeat(growth, 2);
        return text;
    case '{':
        copies = read_copies(text, &text);
        repeat(growth, copies);
        return text;
    case '[':
        add_atom_size(growth, 1);
        return end_of_bracket(text);
    case '\\':
        add_atom_size(growth, 1);
        return text[1] ? text + 1 : text;
    case '*':
    case '?':
        return text;
    default:
        add_atom_size(growth, 1);
        return text;
    }
}

/*
 * Why an expression is not given to regcomp. A back-reference makes matching
 * exponential, and a command line is the target's to choose.
 */
static const char *hazard(const char *text)
{
    struct growth growth = {.depth = 0};

    for (; *text; text++) {
        if (text[0] == '\\' && text[1] >= '1' && text[1] <= '9')
            return "has a back-reference, which POSIX extended expressions have not";
        if (*text == '(' && growth.depth == REGEX_DEPTH_MAX)
            return "has too many groups inside each other; at most 32";
        text = take_element(&growth, text);
        if (growth.size[growth.depth] > REGEX_SIZE_MAX)
            return "repeats too much: + and {n,m} may make it at most 2000 characters long";
    }
    return NULL;
}

enum conf_rc conf_regex_check(const char *text, struct err *err)
{
    char shown[CONF_QUOTE_MAX], why[128];
    regex_t regex;
    int rc;

    if (hazard(text))
        return refuse_pattern(err, text, hazard(text));
    rc = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (rc == 0) {
        regfree(&regex);
        return CONF_OK;
    }
    if (rc == REG_ESPACE)
        return CONF_NOMEM;
    (void)regerror(rc, &regex, why, sizeof(why));
    err_set(err, "%s is not a regular expression: %s", conf_quote(shown, text), why);
    return CONF_BAD;
}

enum conf_rc conf_glob_check(const char *text, struct err *err)
{
    if (strchr("/*?[", *text))
        return CONF_OK;
    return refuse_pattern(err, text, "matches no absolute path");
}

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_.-";

enum conf_rc conf_names_check(const char *text, struct err *err)
{
    const char *at = text;
    size_t size;

    for (; *at; at += size) {
        at += strspn(at, " \t");
        size = strspn(at, name_letters);
        size += at[size] == '*';
        if (at[size] && !strchr(" \t", at[size]))
            return refuse_pattern(err, text, "has something else than names and blanks");
    }
    return CONF_OK;
}

bool conf_is_listed(const char *list, const char *name)
{
    size_t size;

    for (; *list; list += size) {
        list += strspn(list, " \t");
        size = strcspn(list, " \t");
        if (size > 0 && list[size - 1] == '*'
                ? strncmp(list, name, size - 1) == 0
                : size == strlen(name) && strncmp(list, name, size) == 0)
            return size > 0;
    }
    return false;
}

enum conf_rc conf_env_name_check(const char *name, struct err *err)
{
    if (*name && strlen(name) <= 128 && strchr(name, '=') == NULL)
        return CONF_OK;
    err_set(err, "has no name of a variable; allowed: up to 128 bytes without \"=\"");
    return CONF_BAD;
}

/* True if each part of an absolute path is empty, "." or "..". */
static bool names_root(const char *path)
{
    size_t size;

    for (; *path; path += size) {
        path += strspn(path, "/");
        size = strcspn(path, "/");
        if (size > 2 || strspn(path, ".") < size)
            return false;
    }
    return true;
}

enum conf_rc conf_path_check(const char *text, struct err *err)
{
    if (*text != '/')
        return refuse_pattern(err, text, "is a relative path");
    if (names_root(text))
        return refuse_pattern(err, text, "is the root directory: name a path below it");
    return CONF_OK;
}

enum conf_rc conf_socket_check(const char *text, struct err *err)
{
    size_t size = strlen(text);

    if (size >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return verdict("is longer than the 107 bytes that a socket's path may have", err);
    if (size > 0 && text[size - 1] == '/')
        return refuse_pattern(err, text, "names a folder");
    return conf_path_check(text, err);
}

enum conf_rc conf_spool_check(const char *text, struct err *err)
{
    return strcmp(text, "off") == 0 ? CONF_OK : conf_path_check(text, err);
}

bool conf_is_printable_ascii(const char *text)
{
    for (; *text; text++)
        if ((*text < ' ' || *text > '~') && *text != '\t')
            return false;
    return true;
}

/* What is wrong with the ":PORT" at `text`, which goes up to `end`. */
static const char *port_problem(const char *text, const char *end)
{
    char *rest;
    unsigned long port;

    if (text == end)
        return NULL;
    if (*text != ':')
        return "has text after the host";
    if (text + 1 == end) /* "host:" has no port, as curl has it */
        return NULL;
    if (strspn(text + 1, "0123456789") != (size_t)(end - text - 1))
        return "has a port that is not a number";
    port = strtoul(text + 1, &rest, 10);
    return port >= 1 && port <= 65535 ? NULL : "has a port that is not between 1 and 65535";
}

/* True for an IPv6 address, with a zone behind "%" (or "%25", as RFC 6874 has it) if any. */
static bool is_ipv6(const char *text, const char *end)
{
    const char *zone = text + strspn(text, "0123456789abcdefABCDEF:.");
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;

    (void)snprintf(address, sizeof(address), "%.*s", (int)(zone - text), text);
    return inet_pton(AF_INET6, address, &parsed) == 1 &&
           (zone == end ||
            (*zone == '%' && strspn(zone + 1, name_letters) + 1 == (size_t)(end - zone) &&
             zone + 1 < end));
}

/* What is wrong with HOST[:PORT][/PATH]. */
static const char *host_problem(const char *host)
{
    static const char after_host[] =
        ":/!$%&'()*+,;=[]\"<>\\^`{}"; /* libcurl takes none in a name */
    const char *end = host + strcspn(host, "/");
    const char *close;

    if (memchr(host, '@', (size_t)(end - host)))
        return "has a user in it: set user and password_file instead";
    if (*host != '[') {
        close = host + strcspn(host, after_host);
        return close == host ? "has no host" : port_problem(close, end);
    }
    close = memchr(host, ']', (size_t)(end - host));
    if (!close || close == host + 1)
        return "has no host between \"[\" and \"]\"";
    if (!is_ipv6(host + 1, close))
        return "has no IPv6 address between \"[\" and \"]\"";
    return port_problem(close + 1, end);
}

enum conf_rc conf_url_check(const char *text, struct err *err)
{
    const char *why = NULL;

    if (!conf_is_printable_ascii(text) || strpbrk(text, " \t\"<>\\^`{|}"))
        why = "has a character that no URL has";
    else if (strpbrk(text, "?#"))
        why = "has a query or a fragment";
    else if (strncasecmp(text, "http://", 7) == 0)
        why = host_problem(text + 7);
    else if (strncasecmp(text, "https://", 8) == 0)
        why = host_problem(text + 8);
    else
        why = "does not start with http:// or https://";
    return verdict(why, err);
}

enum conf_rc conf_label_name_check(const char *name, struct err *err)
{
    const char *why = NULL;

    if (!*name)
        why = "has no name; allowed: label.NAME";
    else if (strlen(name) > CONF_LABEL_NAME_MAX)
        why = "has too long a name; allowed: up to 1024 bytes";
    else if (strchr(name, '\t'))
        why = "has a tab in its name; allowed: any other character";
    else if (strncmp(name, "__", 2) == 0)
        why = "starts with \"__\", which servers keep for themselves; allowed: any other start";
    else if (strcmp(name, "service_name") == 0 || strcmp(name, "service.name") == 0)
        why = "is set by pystrobe; allowed: service in [target NAME]";
    return verdict(why, err);
}

enum conf_rc conf_header_name_check(const char *name, struct err *err)
{
    static const char *const own[] = {"Host",       "Content-Type",      "Content-Length",
                                      "Connection", "Transfer-Encoding", "Content-Encoding",
                                      "Expect",     "Upgrade",           NULL};
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (!*name || name[strspn(name, token)])
        return verdict("is not the name of a header; allowed: letters, digits, - and _", err);
    if (strlen(name) > 256)
        return verdict("has too long a name; allowed: up to 256 bytes", err);
    for (size_t i = 0; own[i]; i++)
        if (strcasecmp(own[i], name) == 0)
            return verdict("is set by pystrobe; allowed: any other header", err);
    return CONF_OK;
}

enum conf_rc conf_proxy_check(const char *text, struct err *err)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    const char *why = "does not start with http://, https://, socks5:// or socks5h://";

    if (strcmp(text, "none") == 0)
        return CONF_OK;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
            why = host_problem(text + strlen(schemes[i]));
    if (!conf_is_printable_ascii(text) || strpbrk(text, " ?#"))
        why = "has a character that no proxy has";
    if (strchr(text, '@')) /* not to be repeated: it may be a password */
        why = "has a login in it, which belongs into proxy_login_file";
    return verdict(why, err);
}

enum conf_rc conf_name_check(const char *text, struct err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

    if (text[0] != '.' && strlen(text) <= 255 && text[strspn(text, allowed)] == '\0')
        return CONF_OK;
    err_set(err, "is not a name"); /* it may be the secret itself, put here by mistake */
    return CONF_BAD;
}

enum conf_rc conf_file_pattern_check(const char *text, struct err *err)
{
    const char *why = file_name_check(text);

    return why ? refuse_pattern(err, text, why) : CONF_OK;
}
