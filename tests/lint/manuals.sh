#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the manual pages to what mandoc calls right. Reads BUILD: the pages that are made.
set -eu
cd "$(dirname "$0")/../.."

shopt -s nullglob
pages=(packaging/man/*.[1-9] "${BUILD:-build}"/man/*.[1-9])
[[ ${#pages[@]} == 0 ]] || mandoc -T lint -W warning "${pages[@]}"
echo "manuals: ${#pages[@]} pages"
