/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_id.h - build id of the running pystrobe, as the linker has put it into the program.
 *
 * It is read from the program's memory, because its file may have been replaced.
 */
#ifndef AGENT_HOST_BUILD_ID_H
#define AGENT_HOST_BUILD_ID_H

enum { BUILD_ID_MAX = 80 };

/* Writes the id in hex, as `readelf -n` shows it; if there is none, "VERSION REVISION". */
void build_id(char out[BUILD_ID_MAX]);

#endif
