#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every check of this folder, all of them even if one fails.
set -eu
cd "$(dirname "$0")"

passed=0
failed=0
for check in includes.sh cycles.py banned.sh functions.sh types.sh caches.py names.py scripts.sh targets.sh format.sh manuals.sh bpf.sh; do
    if ./"$check"; then
        passed=$((passed + 1))
    else
        echo "lint: $check failed"
        failed=$((failed + 1))
    fi
done
echo "lint: $passed passed, $failed failed, 0 skipped"
[[ $failed == 0 ]]
