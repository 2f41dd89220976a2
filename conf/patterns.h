/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patterns.h - checks text that should be a regular expression, a URL, a header's name ...
 *
 * Errors: CONF_BAD, `err` says what is wrong, without a URL, proxy or header that may contain a
 *         password.
 */
#ifndef CONF_PATTERNS_H
#define CONF_PATTERNS_H

#include "conf/conf.h"

/* A POSIX extended regular expression that compiles, is small and has no back-references, so that
 * any command line can be matched. Errors: also CONF_NOMEM. */
MUST_CHECK enum conf_rc conf_regex_check(const char *text, struct err *err);

/* A glob that can match an absolute path. */
MUST_CHECK enum conf_rc conf_glob_check(const char *text, struct err *err);

/* Names separated by blanks; each may end in "*". */
MUST_CHECK enum conf_rc conf_names_check(const char *text, struct err *err);

/* Name of an environment variable: up to 128 bytes without "=". */
MUST_CHECK enum conf_rc conf_env_name_check(const char *name, struct err *err);

/* An absolute path, but not the root directory. */
MUST_CHECK enum conf_rc conf_path_check(const char *text, struct err *err);

/* Such a path for a Unix socket: up to 107 bytes, and no "/" at the end. */
MUST_CHECK enum conf_rc conf_socket_check(const char *text, struct err *err);

/* An address that conf_listen can parse. */
MUST_CHECK enum conf_rc conf_listen_check(const char *text, struct err *err);

/* "off", or a path as conf_path_check has it. */
MUST_CHECK enum conf_rc conf_spool_check(const char *text, struct err *err);

/* Name of a label that profiles and servers take and that pystrobe does not set itself. */
MUST_CHECK enum conf_rc conf_label_name_check(const char *name, struct err *err);

/* Name of a header: an HTTP token, and no header that the exporter sets itself. */
MUST_CHECK enum conf_rc conf_header_name_check(const char *name, struct err *err);

/* "none", or the URL of a proxy without a login. */
MUST_CHECK enum conf_rc conf_proxy_check(const char *text, struct err *err);

/* Name of a variable or a credential. It must not begin with ".": a credential is a file. */
MUST_CHECK enum conf_rc conf_name_check(const char *text, struct err *err);

/* Pattern of a `type = file` exporter: see exporters/file_name.h. */
MUST_CHECK enum conf_rc conf_file_pattern_check(const char *text, struct err *err);

/* True if all bytes are printable ASCII or tabs. */
bool conf_is_printable_ascii(const char *text);

#endif
