/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what an [exporter NAME] section sets, and how the types of exporter differ.
 *
 * The option table (conf/options.c) fills struct exporter_settings, and the exporter reads it.
 * To add a key: a field here, a row in conf/options.c, its use in the exporter.
 * To add a type: an id here, a row in types.c, its functions (ops.h) and their line in exporter.c.
 */
#ifndef EXPORTERS_SETTINGS_H
#define EXPORTERS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/label.h"

/* What an exporter wants to be given for an interval. */
enum exporter_form {
    EXPORTER_WHOLE,        /* one pprof with all value types */
    EXPORTER_PER_TYPE,     /* pprofs of one value type each, named by `type`: "cpu" and "wall" */
    EXPORTER_PER_TYPE_GIL, /* the same, and "gil" */
    EXPORTER_REQUEST,      /* a gzip'd OTLP request of all services; no service, no type */
    EXPORTER_REQUEST_GIL,  /* the same, and the GIL's profiles */

    /* These, EXPORTER_LIMITED above those, are the same within a Pyroscope's limits. */
    EXPORTER_PER_TYPE_LIMITED,
    EXPORTER_PER_TYPE_GIL_LIMITED,
    EXPORTER_REQUEST_LIMITED,
    EXPORTER_REQUEST_GIL_LIMITED
};

enum { EXPORTER_LIMITED = EXPORTER_PER_TYPE_LIMITED - EXPORTER_PER_TYPE };

bool exporter_form_is_limited(unsigned form);

/* The form without the limits. */
unsigned exporter_form_unlimited(unsigned form);

/* The rows of exporter_types, in the order in which messages and manuals list them. */
enum exporter_type_id {
    EXPORTER_STORE,
    EXPORTER_PYROSCOPE,
    EXPORTER_FILE,
    EXPORTER_OTLP,
    EXPORTER_TYPES
};

/* A type of exporter. Who asks how types differ reads a column, and compares no names. */
struct exporter_type {
    const char *name;            /* as in `type = NAME` */
    enum exporter_form form;     /* what it wants; `pattern` may say otherwise */
    enum exporter_form gil_form; /* the same with gil = on */
    const char *path;            /* what it puts behind url: see exporter_path; or NULL */
    const char *grpc_path;       /* the same by protocol = grpc; NULL: it has no such protocol */
    bool needs_url;              /* it sends to a server, by libcurl */
    bool spread;                 /* many agents share it: they send at different times */
    bool is_store;               /* the page reads what it has written */
    bool reads_otel;             /* OTEL_EXPORTER_OTLP_... variables hold where keys are absent */
    bool is_pyroscope;           /* labels get the names of exporter_label_name; limits hold */
};

extern const struct exporter_type exporter_types[EXPORTER_TYPES];

/* What a Pyroscope takes by default (its -validation.* flags). */
enum {
    PYROSCOPE_LABELS_MAX = 30,      /* of a series, with its own and those of samples */
    EXPORTER_LABEL_NAME_MAX = 1024, /* bytes; a longer one is cut */
    EXPORTER_LABEL_VALUE_MAX = 2048,
    PYROSCOPE_SAMPLES_MAX = 16000,
    PYROSCOPE_DEPTH_MAX = 1000,
    PYROSCOPE_AGE_S = 50 * 60 /* it takes what began an hour ago: ten minutes are for the send */
};

/*
 * Writes the name under which a Pyroscope takes a label, with or without its sanitization of
 * names: each character but letters, digits and "_" of ASCII, and ".", becomes "_"; one more goes
 * before a digit that comes first. No name begins with "__": those are the server's.
 *
 * Gives: true if that is another name.
 */
bool exporter_label_name(const char *name, char out[EXPORTER_LABEL_NAME_MAX + 1]);

/*
 * Where a secret comes from. Exporters read `file` and `text` alone: who opens them puts what
 * `env` and `credential` name there. All NULL: there is no such secret.
 */
struct exporter_secret {
    const char *file;       /* its first line is the secret */
    const char *text;       /* the secret itself, where there is no file */
    const char *env;        /* the name of an environment variable */
    const char *credential; /* the name of a systemd credential */
};

/* A header whose value is a secret. */
struct exporter_secret_header {
    const char *name;
    struct exporter_secret value;
};

/* An [exporter NAME] section. All is borrowed. What is absent or not for the type is NULL or 0. */
struct exporter_settings {
    const char *name;
    const struct exporter_type *type; /* a row of exporter_types */

    const char *path;    /* store: the directory, made if absent (0700) */
    const char *pattern; /* file: see file_name.h */
    bool any_owner;      /* no key: root may write to a directory of another user */
    bool may_wait;       /* no key: what is not there yet is looked for with each send */
    uint64_t max_size_bytes;
    uint64_t max_age_ns;
    int64_t (*since_boot_ns)(void); /* a clock that nobody sets; NULL: UTC is taken for that */

    const char *url;      /* of a server: scheme, host, port and a path prefix if any */
    bool url_is_whole;    /* otlp: nothing is put behind url. No key: OTEL_... variables say it */
    const char *protocol; /* otlp: "http/protobuf", "grpc"; NULL: the first */
    const char *tenant;   /* X-Scope-OrgID */
    const char *user;     /* of basic authentication */
    struct exporter_secret password;    /* of user */
    struct exporter_secret token;       /* a bearer token */
    const char *proxy;                  /* SCHEME://HOST:PORT, "none"; NULL: by the environment */
    struct exporter_secret proxy_login; /* USER:PASSWORD */
    const struct label *headers;        /* header.NAME = value */
    size_t header_count;
    const struct exporter_secret_header *secret_headers; /* header_file.NAME = path, ... */
    size_t secret_header_count;
    const char *ca_file;
    const char *cert_file;       /* of the client, in PEM */
    const char *key_file;        /* NULL: the key is in cert_file */
    uint64_t timeout_ns;         /* of one try */
    uint64_t connect_timeout_ns; /* until the connection stands, TLS included */
    uint64_t stall_timeout_ns;   /* without a byte either way */
    const char *user_agent;      /* no key: it names this program */

    /* No keys: what variables say where there is no key. libcurl itself reads those of other
     * proxies. */
    const char *http_proxy;    /* HTTP_PROXY, for http:// urls */
    const char *ssl_cert_file; /* SSL_CERT_FILE and SSL_CERT_DIR: CAs, each in place of */
    const char *ssl_cert_dir;  /* what libcurl was built with */

    const char *limits;      /* "pyroscope", "none"; NULL: as exporter_is_limited says */
    const char *legacy;      /* pyroscope: "ingest" for a server without Push; NULL: push */
    const char *compression; /* otlp: "none"; "gzip" or NULL: as profiles are given */
    bool gil;                /* profiles of the time that the GIL was held, too */

    /* For who calls exporter_start. */
    size_t max_in_flight;      /* requests at a time; 0: EXPORTER_IN_FLIGHT_DEFAULT */
    uint64_t queue_size_bytes; /* of batches that wait in memory; 0: the default */
    size_t queue;              /* old: profiles that wait; has no effect */
    uint64_t retry_ns;         /* a batch is tried for this long; 0: once */
};

/* True if what goes to this exporter is held to a Pyroscope's limits. */
bool exporter_is_limited(const struct exporter_settings *settings);

/* True if it speaks gRPC. */
bool exporter_is_grpc(const struct exporter_settings *settings);

/* What it puts behind url, without a slash in front; NULL: nothing. */
const char *exporter_path(const struct exporter_settings *settings);

#endif
