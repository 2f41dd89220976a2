/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the settings of an [exporter NAME] section, and the types of exporter.
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

/* Form of the profiles that an exporter takes. */
enum exporter_form {
    EXPORTER_WHOLE,        /* one pprof with all value types */
    EXPORTER_PER_TYPE,     /* a pprof for each value type, named by `type`: "cpu" and "wall" */
    EXPORTER_PER_TYPE_GIL, /* the same, and "gil" */
    EXPORTER_REQUEST,      /* a gzip'd OTLP request of all services; service, type: NULL */
    EXPORTER_REQUEST_GIL,  /* the same, with the profiles of the GIL */

    /* The forms above plus EXPORTER_LIMITED: the same, within the limits of a Pyroscope. */
    EXPORTER_PER_TYPE_LIMITED,
    EXPORTER_PER_TYPE_GIL_LIMITED,
    EXPORTER_REQUEST_LIMITED,
    EXPORTER_REQUEST_GIL_LIMITED
};

enum { EXPORTER_LIMITED = EXPORTER_PER_TYPE_LIMITED - EXPORTER_PER_TYPE };

bool exporter_form_is_limited(unsigned form);

/* Gives the form without the limits. */
unsigned exporter_form_unlimited(unsigned form);

/* The rows of exporter_types, in the order in which messages and manuals list them. */
enum exporter_type_id {
    EXPORTER_STORE,
    EXPORTER_PYROSCOPE,
    EXPORTER_FILE,
    EXPORTER_OTLP,
    EXPORTER_TYPES
};

/* A type of exporter. Code that depends on the type reads a field here and compares no names. */
struct exporter_type {
    const char *name;            /* as in `type = NAME` */
    enum exporter_form form;     /* form that it takes; see is_whole in ops.h */
    enum exporter_form gil_form; /* the same with gil = on */
    const char *path;            /* appended to url: see exporter_path; NULL: nothing */
    const char *grpc_path;       /* the same for protocol = grpc; NULL: it does not speak gRPC */
    bool needs_url;              /* it sends to a server, by libcurl */
    bool spread;                 /* agents send at different times, because they share a server */
    bool is_store;               /* the page reads its files */
    bool reads_otel;             /* OTEL_EXPORTER_OTLP_... variables count if keys are absent */
    bool is_pyroscope;           /* labels are named by exporter_label_name; limits hold */
};

extern const struct exporter_type exporter_types[EXPORTER_TYPES];

/* Default limits of a Pyroscope server (its -validation.* flags). */
enum {
    PYROSCOPE_LABELS_MAX = 30,       /* of a series, with the server's own and those of samples */
    EXPORTER_LABEL_NAME_MAX = 1024,  /* bytes */
    EXPORTER_LABEL_VALUE_MAX = 2048, /* bytes; a longer value is cut */
    PYROSCOPE_SAMPLES_MAX = 16000,   /* of a profile */
    PYROSCOPE_DEPTH_MAX = 1000,      /* frames of a stack */
    PYROSCOPE_AGE_S = 50 * 60        /* of a profile; the server's hour less ten minutes to send */
};

/*
 * Writes a label's name so that each Pyroscope takes it, whether it sanitizes names or not: each
 * character but ASCII letters, digits, "_" and "." becomes "_", and a leading digit gets a "_"
 * before it. No result begins with "__": those names are the server's. A long name is cut.
 *
 * Gives: true if the result differs from `name`.
 */
bool exporter_label_name(const char *name, char out[EXPORTER_LABEL_NAME_MAX + 1]);

/*
 * Source of a secret. Exporters read only `file` and `text`: the caller of exporter_open resolves
 * `env` and `credential` to one of these. All NULL: no such secret.
 */
struct exporter_secret {
    const char *file;       /* its first line is the secret */
    const char *text;       /* the secret itself, if there is no file */
    const char *env;        /* name of an environment variable */
    const char *credential; /* name of a systemd credential */
};

/* A header whose value is a secret. */
struct exporter_secret_header {
    const char *name;
    struct exporter_secret value;
};

/* An [exporter NAME] section. All is borrowed. NULL or 0: the key is absent or of another type. */
struct exporter_settings {
    const char *name;
    const struct exporter_type *type; /* a row of exporter_types */

    const char *path;    /* store: the directory, made if absent (0700) */
    const char *pattern; /* file: see file_name.h */
    bool any_owner;      /* no key: root may write to a directory of another user */
    bool may_wait;       /* no key: missing files and directories are tried again at each send */
    uint64_t max_size_bytes;        /* store, file: limit of all files together; 0: none */
    uint64_t max_age_ns;            /* store, file: limit of a file's age; 0: none */
    int64_t (*since_boot_ns)(void); /* no key: reads CLOCK_BOOTTIME; NULL: UTC is used instead */

    const char *url;      /* of a server: scheme, host, port, path prefix; the caller checks it */
    bool url_is_whole;    /* otlp, no key: append nothing; set for OTEL_..._PROFILES_ENDPOINT */
    const char *protocol; /* otlp: "http/protobuf", "grpc"; NULL: the former */
    const char *tenant;   /* value of the header X-Scope-OrgID */
    const char *user;     /* for basic authentication */
    struct exporter_secret password;    /* of user */
    struct exporter_secret token;       /* a bearer token */
    const char *proxy;                  /* SCHEME://HOST:PORT, "none"; NULL: of the environment */
    struct exporter_secret proxy_login; /* USER:PASSWORD */
    const struct label *headers;        /* header.NAME = value */
    size_t header_count;
    const struct exporter_secret_header *secret_headers; /* header_file.NAME = path, ... */
    size_t secret_header_count;
    const char *ca_file;         /* CAs that are trusted, in PEM */
    const char *cert_file;       /* of the client, in PEM */
    const char *key_file;        /* NULL: the key is in cert_file */
    uint64_t timeout_ns;         /* of one try */
    uint64_t connect_timeout_ns; /* until the connection is made, TLS included */
    uint64_t stall_timeout_ns;   /* longest time without a byte either way */
    const char *user_agent;      /* no key: value of the header User-Agent */

    /* No keys: variables that count if the key is absent. libcurl itself reads those of other
     * proxies. */
    const char *http_proxy;    /* HTTP_PROXY, for http:// urls */
    const char *ssl_cert_file; /* SSL_CERT_FILE and SSL_CERT_DIR: CAs, each in place of */
    const char *ssl_cert_dir;  /* what libcurl was built with */

    const char *limits;      /* "pyroscope", "none"; NULL: as exporter_is_limited says */
    const char *legacy;      /* pyroscope: "ingest" for a server without Push; NULL: push */
    const char *compression; /* otlp: "none", "gzip"; NULL: gzip */
    bool gil;                /* also take profiles of the time that the GIL was held */

    /* For the caller of exporter_start. */
    size_t max_in_flight;      /* requests at a time; 0: EXPORTER_IN_FLIGHT_DEFAULT */
    uint64_t queue_size_bytes; /* of batches that wait in memory; 0: the default */
    size_t queue;              /* obsolete, without effect */
    uint64_t retry_ns;         /* time for which a batch is tried again; 0: one try */
};

/* True if its profiles are kept within a Pyroscope's limits. */
bool exporter_is_limited(const struct exporter_settings *settings);

/* True if it speaks gRPC. */
bool exporter_is_grpc(const struct exporter_settings *settings);

/* Gives the path that is appended to url, without a slash in front; NULL: nothing is. */
const char *exporter_path(const struct exporter_settings *settings);

#endif
