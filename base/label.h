/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.h - a name and its value: a label of a profile, an HTTP header, a resource attribute.
 */
#ifndef BASE_LABEL_H
#define BASE_LABEL_H

/* Both strings are borrowed; neither is NULL. */
struct label {
    const char *name;
    const char *value;
};

#endif
