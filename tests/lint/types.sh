#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where a type of exporter is compared outside exporters/: what differs between the types is a
# column of exporter_types (exporters/types.c).
#
#   types.sh [TREE]    TREE is the checkout to read (default: the one that this script is in)
set -eu
cd "${1:-"$(dirname "$0")/../.."}"

failed=0
names=$(sed -n 's/^ *\.name = "\([a-z]*\)",$/\1/p' exporters/types.c | paste -sd '|')
[[ -n $names ]] || { echo "types: exporters/types.c names no type" && exit 1; }

# A call that compares text, on however many lines, and a comparison with a row of the table.
by_name="str(n|case|ncase)?cmp\\s*\\([^;{}]*?\"($names)\""
by_row='[!=]=\s*&?exporter_types\b'
while read -r file; do
    hits=$(grep -zoP "$by_name|$by_row" "$file" | tr '\0\n' '\n ' || true)
    [[ -n $hits ]] || continue
    echo "types: $file compares a type of exporter; read a column of exporter_types instead:"
    echo "$hits"
    failed=1
done < <(find base unwind pprof formats conf agent -name '*.[ch]' | sort)
exit "$failed"
