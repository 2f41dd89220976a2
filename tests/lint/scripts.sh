#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every shell script and parses every Python file of the tree; the targets
# must stay readable for the oldest Python that is to be profiled.
set -eu
cd "$(dirname "$0")/../.."

failed=0

is_shell() {
    case $1 in
    *.sh | *.bash | *.postrm) return 0 ;;
    *.*) return 1 ;;
    *) head -c 64 "$1" | head -n 1 | grep -qE '^#!.*\b(ba)?sh\b' ;;
    esac
}

mapfile -d '' files < <(find . \( -name .git -o -name build \) -prune -o -type f -size -256k -print0)
scripts=()
for file in "${files[@]}"; do
    if is_shell "$file" 2>/dev/null; then
        scripts+=("$file")
    fi
done
shellcheck "${scripts[@]}" || failed=1

parse='
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path, feature_version=(3, 6) if "/targets/" in path else None)
'
mapfile -d '' pythons < <(find tests packaging -name '*.py' -print0)
[[ ${#pythons[@]} == 0 ]] || "${PYTHON:-python3}" -c "$parse" "${pythons[@]}" || failed=1
echo "scripts: ${#scripts[@]} shell, ${#pythons[@]} Python"
exit "$failed"
