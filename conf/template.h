/* SPDX-License-Identifier: Apache-2.0 */
/* template.h - checks the text of service = and label.NAME =, before any process is there. */
#ifndef CONF_TEMPLATE_H
#define CONF_TEMPLATE_H

#include "conf/conf.h"

/* All ${...} are closed, have names that are known, and are not too deep in each other. */
MUST_CHECK enum conf_rc conf_template_check(const char *text, struct err *err);

/* Calls `each` for the NAME of every ${env:NAME} in a template that has been checked. */
void conf_template_variables(const char *text, void (*each)(void *ctx, const char *name),
                             void *ctx);

#endif
