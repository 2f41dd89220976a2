/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - see advice.h. */
#include "exporters/http/advice.h"

#include <string.h>

struct row {
    const char *words;  /* in libcurl's text, whatever TLS library it has */
    const char *advice; /* static */
};

/* The first row whose words are there counts. */
static const struct row by_words[] = {
    {"has expired", " (the server needs a new certificate, if this machine's clock is right)"},
    {"not yet valid", " (is this machine's clock right?)"},
    {"not activated", " (is this machine's clock right?)"},
    {"alternative certificate subject name",
     " (the certificate is for another name: put the name that it is for into url)"},
    {"does not match", " (the certificate is for another name: put the name that it is for into "
                       "url)"},
    {"self-signed", " (put the certificate, or that of your own CA, into ca_file)"},
    {"self signed", " (put the certificate, or that of your own CA, into ca_file)"},
    {"local issuer", " (put the certificate of the CA that signed the server's into ca_file)"},
    {"certificate required",
     " (the server wants a client certificate: set cert_file and key_file)"},
    {"unknown ca", " (the server does not know the CA of cert_file)"},
    {"bad certificate", " (the server does not take, or lacks, the certificate of cert_file)"},
    {"handshake failure", " (does the server want a client certificate? Set cert_file)"},
    {"protocol version", " (TLS 1.2 is the least that is spoken)"},
    {"wrong version number", " (there is no TLS: should url begin with http://?)"},
    {"HTTP code 407", " (the proxy wants a login: set proxy_login_file)"},
};

struct code_row {
    CURLcode code;
    const char *advice;
};

static const struct code_row by_code[] = {
    {CURLE_COULDNT_RESOLVE_HOST, " (is the host in url right, and does this machine's DNS work?)"},
    {CURLE_COULDNT_RESOLVE_PROXY, " (is the host of the proxy right? See proxy, and the variables "
                                  "http_proxy and https_proxy)"},
    {CURLE_COULDNT_CONNECT, " (is a server running there, and is the port in url right?)"},
    {CURLE_PEER_FAILED_VERIFICATION, " (a CA of your own goes to ca_file)"},
    {CURLE_SSL_CACERT_BADFILE, " (ca_file, or else SSL_CERT_FILE, wants certificates in PEM)"},
    {CURLE_SSL_CERTPROBLEM, " (cert_file wants a certificate in PEM, and key_file its key)"},
};

const char *http_advice(CURLcode code, const char *text)
{
    for (size_t i = 0; i < sizeof(by_words) / sizeof(by_words[0]); i++)
        if (strcasestr(text, by_words[i].words))
            return by_words[i].advice;
    for (size_t i = 0; i < sizeof(by_code) / sizeof(by_code[0]); i++)
        if (by_code[i].code == code)
            return by_code[i].advice;
    return "";
}
