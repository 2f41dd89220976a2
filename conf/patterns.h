/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patterns.h - what text must look like to be a regular expression, a URL, a header's name ...
 *
 * All of them: CONF_BAD, `err` has what is wrong. What is wrong with a URL or a header is
 * said without repeating it: a password may stand in it.
 */
#ifndef CONF_PATTERNS_H
#define CONF_PATTERNS_H

#include "conf/conf.h"

/* POSIX extended, compiles, no back-references, no large {n,m}: any process may be matched. */
MUST_CHECK enum conf_rc conf_regex_check(const char *text, struct err *err);

/* A pattern that an absolute path can match. */
MUST_CHECK enum conf_rc conf_glob_check(const char *text, struct err *err);

/* Names with blanks between, each perhaps with a "*" at its end. */
MUST_CHECK enum conf_rc conf_names_check(const char *text, struct err *err);

/* What may be the name of an environment variable. */
MUST_CHECK enum conf_rc conf_env_name_check(const char *name, struct err *err);

MUST_CHECK enum conf_rc conf_path_check(const char *text, struct err *err);

/* The same, of a Unix socket: up to 107 bytes, and no "/" at the end. */
MUST_CHECK enum conf_rc conf_socket_check(const char *text, struct err *err);

/* What conf_listen reads. */
MUST_CHECK enum conf_rc conf_listen_check(const char *text, struct err *err);

/* An absolute path, or "off". */
MUST_CHECK enum conf_rc conf_spool_check(const char *text, struct err *err);

/* http or https, a host, a port and a path at most. */
MUST_CHECK enum conf_rc conf_url_check(const char *text, struct err *err);

/* What may be a label's name in a profile and on a server. */
MUST_CHECK enum conf_rc conf_label_name_check(const char *name, struct err *err);

/* A token as HTTP has it, and none that the exporter sets itself. */
MUST_CHECK enum conf_rc conf_header_name_check(const char *name, struct err *err);

/* "none", or the URL of a proxy without a login in it. */
MUST_CHECK enum conf_rc conf_proxy_check(const char *text, struct err *err);

/* What may be the name of a variable or of a credential, which is a file's. */
MUST_CHECK enum conf_rc conf_name_check(const char *text, struct err *err);

/* The pattern of a `type = file` exporter, as far as its braces go. */
MUST_CHECK enum conf_rc conf_file_pattern_check(const char *text, struct err *err);

bool conf_is_printable_ascii(const char *text);

#endif
