/* SPDX-License-Identifier: Apache-2.0 */
/* control_client.h - the commands' end of the control socket. */
#ifndef AGENT_SERVE_CONTROL_CLIENT_H
#define AGENT_SERVE_CONTROL_CLIENT_H

#include "agent/serve/control_text.h"
#include "base/buf.h"

/*
 * Asks the agent at `path`, and waits up to 40 s for each part of its answer.
 *
 * Gives: EXIT_OK, or another exit status: `err` says why. In either case `answer`, which holds what
 *        follows the line "ok" and is ended with buf_finish.
 */
MUST_CHECK int control_client_ask(const char *path, const struct control_request *request,
                                  struct buf *answer, struct err *err);

#endif
