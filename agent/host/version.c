/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - see version.h. */
#include "agent/host/version.h"

#include <libdeflate.h>
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <zlib.h>

#include "base/json.h"

enum { JSON_MAX = 64 << 10 };

struct version_library {
    const char *name, *version;
};

const char version_number[] = PYSTROBE_VERSION;
const char version_revision[] = PYSTROBE_REVISION;
const char version_agent[] = "pystrobe/" PYSTROBE_VERSION;

/* gcc's __VERSION__ is a bare number, clang's has its name. */
#ifdef __clang__
static const char compiler[] = __VERSION__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif
static const char pythons[] = "3.6 to 3.15";

/* Gives false if they cannot be written. */
static bool print_as_text(const struct version_library *libraries, const char *curl_version)
{
    (void)printf("pystrobe %s (%s, %s)\nreads CPython %s\n%s", version_number, version_revision,
                 compiler, pythons, curl_version);
    for (; libraries->name; libraries++)
        (void)printf(", %s/%s", libraries->name, libraries->version);
    return putchar('\n') != EOF && fflush(stdout) == 0;
}

static bool print_as_json(const struct version_library *libraries, const char *curl_version)
{
    struct buf text;
    bool good;

    buf_init(&text, JSON_MAX);
    json_member(&text, "{\"version\": ", version_number);
    json_member(&text, ", \"revision\": ", version_revision);
    json_member(&text, ", \"compiler\": ", compiler);
    json_member(&text, ", \"cpython\": ", pythons);
    json_member(&text, ", \"libraries\": {\"libcurl\": ", curl_version);
    for (; libraries->name; libraries++) {
        buf_add_fmt(&text, ", \"%s\": ", libraries->name);
        json_string(&text, libraries->version);
    }
    buf_add_str(&text, "}}\n");
    good = !buf_failed(&text) && fwrite(text.data, 1, text.size, stdout) == text.size &&
           fflush(stdout) == 0;
    buf_finish(&text);
    return good;
}

bool version_print(bool as_json, const char *curl_version)
{
    const struct version_library libraries[] = {{"protobuf-c", protobuf_c_version()},
                                                {"libdeflate", LIBDEFLATE_VERSION_STRING},
                                                {"zlib", zlibVersion()},
                                                {NULL, NULL}};

    return as_json ? print_as_json(libraries, curl_version)
                   : print_as_text(libraries, curl_version);
}
