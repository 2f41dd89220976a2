#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that `make help` has each documented target in a group: one whose rule ends with "## ...".
set -eu
cd "$(dirname "$0")/../.."

documented=$(sed -n -E 's/^([a-z0-9-]+):.*## .*/\1/p' Makefile packaging/*.mk tests/*.mk | sort)
shown=$(MAKEFLAGS='' make --no-print-directory help | sed -n -E 's/^  ([a-z0-9-]+) .*/\1/p' | sort)
if ! diff <(echo "$documented") <(echo "$shown"); then
    echo "targets: make help has no group for those marked <: write \"## GROUP: what it does\" (HELP_GROUPS in the Makefile)"
    exit 1
fi
echo "targets: $(wc -l <<<"$documented") in make help"
