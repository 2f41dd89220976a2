/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_page.c - the page for browsers: page.html, page.css and page.js, with the flame graph of
 * formats/, and help.html. Files of their own, so that the policy of their headers need not allow
 * anything inline.
 */
#include "agent/serve/web_internal.h"
#include "formats/format.h"

static const unsigned char page[] = {
#include <agent/serve/page.html.inc>
};
static const unsigned char help[] = {
#include <agent/serve/help.html.inc>
};
static const unsigned char style[] = {
#include <agent/serve/page.css.inc>
};
static const unsigned char script[] = {
#include <agent/serve/page.js.inc>
};

void web_page(const struct web_request *request, struct web_answer *answer)
{
    (void)request;
    buf_add(&answer->body, page, sizeof(page));
    answer->type = "text/html; charset=utf-8";
}

void web_page_help(const struct web_request *request, struct web_answer *answer)
{
    (void)request;
    buf_add(&answer->body, help, sizeof(help));
    answer->type = "text/html; charset=utf-8";
}

void web_page_style(const struct web_request *request, struct web_answer *answer)
{
    (void)request;
    format_flame_style(&answer->body);
    buf_add(&answer->body, style, sizeof(style));
    answer->type = "text/css; charset=utf-8";
}

void web_page_script(const struct web_request *request, struct web_answer *answer)
{
    (void)request;
    format_flame_script(&answer->body);
    buf_add(&answer->body, script, sizeof(script));
    answer->type = "text/javascript; charset=utf-8";
}
