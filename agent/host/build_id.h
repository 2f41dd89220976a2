/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build_id.h - which build of pystrobe runs: the build id that the linker has put into it.
 *
 * It is read from the running program's memory, not from its file, which may be another by now.
 */
#ifndef AGENT_HOST_BUILD_ID_H
#define AGENT_HOST_BUILD_ID_H

enum { BUILD_ID_MAX = 80 };

/* Writes the id in hex, as `readelf -n` has it; if the program was linked without one, its version
 * and revision. */
void build_id(char out[BUILD_ID_MAX]);

#endif
