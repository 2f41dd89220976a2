/* SPDX-License-Identifier: Apache-2.0 */
/* template.h - checks the templates of service = and label.NAME = when the settings are read. */
#ifndef CONF_TEMPLATE_H
#define CONF_TEMPLATE_H

#include "conf/conf.h"

/* Checks that each ${...} is closed, has a known name and is nested at most 8 deep. */
MUST_CHECK enum conf_rc conf_template_check(const char *text, struct err *err);

/* Calls `each` for the NAME of every ${env:NAME} in a template that has been checked. */
void conf_template_variables(const char *text, void (*each)(void *ctx, const char *name),
                             void *ctx);

#endif
