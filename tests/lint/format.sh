#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats the C files (format.sh --fix), or says which are not formatted (format.sh).
set -eu
cd "$(dirname "$0")/../.."

# The version is pinned, as each formats a little otherwise.
tool=${CLANG_FORMAT:-clang-format-14}
failed=0

while read -r -d '' file; do
    if [[ ${1:-} == --fix ]]; then
        "$tool" -i "$file"
    elif ! "$tool" "$file" | cmp -s - "$file"; then
        echo "format: $file is not formatted: make format"
        failed=1
    fi
done < <(find base unwind pprof formats conf exporters agent tests -name '*.[ch]' -print0)
exit "$failed"
