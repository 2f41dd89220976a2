#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the manual pages with mandoc, and that README's picture is what its script draws.
# Reads BUILD: the pages that are made.
set -eu
cd "$(dirname "$0")/../.."

shopt -s nullglob
pages=(packaging/man/*.[1-9] "${BUILD:-build}"/man/*.[1-9])
[[ ${#pages[@]} == 0 ]] || mandoc -T lint -W warning "${pages[@]}"
if ! "${PYTHON:-python3}" packaging/pictures/data_flow.py | cmp -s - packaging/pictures/data_flow.svg; then
    echo "manuals: packaging/pictures/data_flow.svg is not what data_flow.py draws: make pictures"
    exit 1
fi
echo "manuals: ${#pages[@]} pages"
