/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - see version.h. */
#include "agent/version.h"

#include <curl/curl.h>
#include <libdeflate.h>
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <zlib.h>

const char version_number[] = PYSTROBE_VERSION;
const char version_revision[] = PYSTROBE_REVISION;
const char version_agent[] = "pystrobe/" PYSTROBE_VERSION;

void version_print(void)
{
    (void)printf("pystrobe %s (%s, %s)\n", version_number, version_revision, __VERSION__);
    (void)printf("reads CPython 3.6 to 3.15\n");
    (void)printf("%s, protobuf-c/%s, libdeflate/%s, zlib/%s\n", curl_version(),
                 protobuf_c_version(), LIBDEFLATE_VERSION_STRING, zlibVersion());
}
