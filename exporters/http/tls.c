/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - see tls.h. */
#include "exporters/http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "exporters/http/curl_api.h"
#include "exporters/http/hidden.h"

enum { PEM_MAX = 1024 * 1024 };          /* a chain has a few KiB a certificate */
enum { CERTIFICATE_WITHIN = 64 * 1024 }; /* texts may stand before the first one */

static bool is_file_fit(const char *key, const char *path, struct err *err)
{
    struct stat info;

    if (!path || (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, R_OK) == 0))
        return true;
    err_set(err, "%s: %s is not a file that can be read", key, path);
    return false;
}

/* libcurl says nothing of a file of another kind until it connects, and then not which. What cannot
 * be read is told elsewhere. */
static bool holds_certificate(const char *key, const char *path, struct err *err)
{
    char text[CERTIFICATE_WITHIN + 1];
    size_t size = 0;
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const bool is_read = fd >= 0 && file_read(fd, text, CERTIFICATE_WITHIN, &size);

    if (fd >= 0)
        (void)close(fd);
    text[size] = '\0';
    if (!is_read || strstr(text, "CERTIFICATE-----"))
        return true;
    err_set(err, "%s: %s holds no certificate in PEM (-----BEGIN CERTIFICATE-----)", key, path);
    return false;
}

static enum exporter_rc check_files(struct http_tls *tls, struct err *err)
{
    struct stat info;

    tls->checked = is_file_fit("ca_file", tls->ca_file, err) &&
                   is_file_fit("cert_file", tls->cert_file, err) &&
                   is_file_fit("key_file", tls->key_file, err);
    if (tls->checked && tls->key_file && stat(tls->key_file, &info) == 0 &&
        (info.st_mode & S_IROTH) != 0) {
        err_set(err, "key_file: %s holds a secret and may be read by everybody: chmod o-r it",
                tls->key_file);
        tls->checked = false;
    }
    tls->checked = tls->checked && holds_certificate("ca_file", tls->ca_file, err) &&
                   holds_certificate("cert_file", tls->cert_file, err);
    return tls->checked ? EXPORTER_OK : EXPORTER_RETRY;
}

static bool copy_tls_path(const char *path, char **out)
{
    *out = path ? strdup(path) : NULL;
    return !path || *out;
}

enum exporter_rc http_tls_open(const struct exporter_settings *settings, struct http_tls *out,
                               struct err *err)
{
    enum exporter_rc rc;

    *out = (struct http_tls){.checked = false};
    if (settings->key_file && !settings->cert_file) {
        err_set(err, "key_file: needs cert_file");
        return EXPORTER_BAD_CONFIG;
    }
    if (!copy_tls_path(settings->ca_file, &out->ca_file) ||
        !copy_tls_path(settings->cert_file, &out->cert_file) ||
        !copy_tls_path(settings->key_file, &out->key_file))
        return EXPORTER_NOMEM;
    rc = check_files(out, err);
    return rc == EXPORTER_RETRY && settings->may_wait ? EXPORTER_OK : rc;
}

void http_tls_close(struct http_tls *tls)
{
    free(tls->ca_file);
    free(tls->cert_file);
    free(tls->key_file);
    *tls = (struct http_tls){.checked = false};
}

/*
 * A ca_file is all that is trusted: the directory that libcurl was built with would count beside
 * it. libcurl 7.87 and later would use what it once read for a day, however often the file changes.
 */
static CURLcode set_ca(const struct exporter_settings *settings, CURL *easy)
{
    const char *file = settings->ca_file ? settings->ca_file : settings->ssl_cert_file;
    const char *dir = settings->ca_file ? NULL : settings->ssl_cert_dir;
    CURLcode code =
        curl_api_optional(libcurl.easy_setopt(easy, (CURLoption)CURL_OPTION_CA_CACHE_TIMEOUT, 0L));

    if (file) {
        CURL_SET(code, easy, CURLOPT_CAINFO, file);
        CURL_SET(code, easy, CURLOPT_PROXY_CAINFO, file);
    }
    if (code == CURLE_OK && (settings->ca_file || dir))
        code = curl_api_optional(libcurl.easy_setopt(easy, CURLOPT_CAPATH, dir));
    if (code == CURLE_OK && (settings->ca_file || dir))
        code = curl_api_optional(libcurl.easy_setopt(easy, CURLOPT_PROXY_CAPATH, dir));
    return code;
}

CURLcode http_tls_set(const struct exporter_settings *settings, CURL *easy)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

    CURL_SET(code, easy, CURLOPT_SSL_VERIFYPEER, 1L);
    CURL_SET(code, easy, CURLOPT_SSL_VERIFYHOST, 2L);
    return code == CURLE_OK ? set_ca(settings, easy) : code;
}

/* Gives: *out, ended with hidden_free. False: errno says why. */
static bool read_hidden(int fd, size_t size, struct curl_blob *out)
{
    char *data = hidden_malloc(size + 1);
    size_t used;

    if (!data || !file_read(fd, data, size, &used)) {
        hidden_free(data);
        return false;
    }
    *out = (struct curl_blob){.data = data, .len = used, .flags = CURL_BLOB_COPY};
    return true;
}

static enum exporter_rc read_pem(const char *key, const char *path, struct curl_blob *out,
                                 struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum exporter_rc rc = EXPORTER_RETRY;
    struct stat info;

    if (fd < 0 || fstat(fd, &info) != 0)
        err_set(err, "%s: %s: %s", key, path, strerror(errno));
    else if (!S_ISREG(info.st_mode) || info.st_size > PEM_MAX)
        err_set(err, "%s: %s is no regular file of at most 1 MiB", key, path);
    else if (!read_hidden(fd, (size_t)info.st_size, out))
        err_set(err, "%s: %s: %s", key, path, strerror(errno));
    else
        rc = EXPORTER_OK;
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

/* Other libraries than OpenSSL read files only; so did libcurl before 7.71. */
static bool takes_blobs(void)
{
    const curl_version_info_data *about = libcurl.version_info(CURLVERSION_NOW);

    return about && about->version_num >= 0x074700 && about->ssl_version &&
           strncmp(about->ssl_version, "OpenSSL/", 8) == 0;
}

static CURLcode name_files(const struct http_tls *tls, CURL *easy)
{
    CURLcode code = libcurl.easy_setopt(easy, CURLOPT_SSLCERT, tls->cert_file);

    if (tls->key_file)
        CURL_SET(code, easy, CURLOPT_SSLKEY, tls->key_file);
    return code;
}

enum exporter_rc http_tls_load(struct http_tls *tls, CURL *easy, struct err *err)
{
    struct curl_blob cert = {.data = NULL}, key = {.data = NULL};
    enum exporter_rc rc = tls->checked ? EXPORTER_OK : check_files(tls, err);
    CURLcode code;

    if (rc != EXPORTER_OK || !tls->cert_file)
        return rc;
    if (!takes_blobs())
        return name_files(tls, easy) == CURLE_OK ? EXPORTER_OK : EXPORTER_NOMEM;
    rc = read_pem("cert_file", tls->cert_file, &cert, err);
    if (rc == EXPORTER_OK && tls->key_file)
        rc = read_pem("key_file", tls->key_file, &key, err);
    if (rc == EXPORTER_OK) {
        code = libcurl.easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &cert);
        CURL_SET(code, easy, CURLOPT_SSLKEY_BLOB, key.data ? &key : &cert);
        rc = code == CURLE_OK ? EXPORTER_OK : EXPORTER_NOMEM;
    }
    hidden_free(cert.data);
    hidden_free(key.data);
    return rc;
}
