#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs make targets one after the other, all of them even if one fails, and sums their counts.
#
#   steps.sh DIR TARGET...    DIR keeps each target's output
#
# A target's count is its last line "N passed, N failed, N skipped"; without one it counts as
# one test. Ends with that line for all, and before it once more each "failed: NAME".
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$1
shift
mkdir -p "$logs"
: >"$logs/failed"
sum_passed=0
sum_failed=0
sum_skipped=0

# What failed of a target: the names that it gave, or its last words.
name_failures() { # target
    if grep -q '^failed: ' "$logs/$1.log"; then
        sed -n "s/^failed: /failed: $1: /p" "$logs/$1.log" | sort -u
    else
        tail -n 15 "$logs/$1.log" | sed "s/^/failed: $1: /"
    fi
}

run_step() { # target
    local status=0 line passed failed skipped
    echo "== make $1"
    SECONDS=0
    ${MAKE:-make} "$1" </dev/null 2>&1 | tee "$logs/$1.log" || status=${PIPESTATUS[0]}
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$1.log" | tail -n 1 || true)
    if [[ -z $line ]]; then
        line="$((status == 0)) passed, $((status != 0)) failed, 0 skipped"
    fi
    read -r passed _ failed _ skipped _ <<<"$line"
    if [[ $status != 0 && $failed == 0 ]]; then
        failed=1
    fi
    if [[ $failed != 0 ]]; then
        name_failures "$1" >>"$logs/failed"
    fi
    echo "== make $1: $passed passed, $failed failed, $skipped skipped in $SECONDS s"
    sum_passed=$((sum_passed + passed))
    sum_failed=$((sum_failed + failed))
    sum_skipped=$((sum_skipped + skipped))
}

for target; do
    run_step "$target"
done
cat "$logs/failed"
echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped"
[[ $sum_failed == 0 && $sum_passed != 0 ]]
