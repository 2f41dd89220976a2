/* SPDX-License-Identifier: Apache-2.0 */
/* control_client.h - the commands' end of the control socket. */
#ifndef AGENT_SERVE_CONTROL_CLIENT_H
#define AGENT_SERVE_CONTROL_CLIENT_H

#include "agent/serve/control_text.h"
#include "base/buf.h"

/*
 * Sends a request to the agent at `path`, and waits up to 40 s for each part of its answer.
 *
 * Gives: EXIT_OK and in `answer` the text after the line "ok"; or another exit status, and `err`
 *        says why. The caller ends `answer` with buf_finish in any case.
 */
MUST_CHECK int control_client_ask(const char *path, const struct control_request *request,
                                  struct buf *answer, struct err *err);

#endif
