#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs the source into one file: dist.sh NAME REVISION EPOCH FILE
#
# The same bytes each time: entries are sorted, and have no owner, no time but EPOCH and no mode
# but what git knows. All that git would take is in it; without git, and where a packed
# source lies below some other repository, all that is there.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
revision=$2
epoch=$3
file=$4

list_files() {
    if [[ ! -e REVISION ]] && git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -z -co --exclude-standard | while IFS= read -r -d '' path; do
            [[ ! -e $path && ! -L $path ]] || printf '%s\0' "$path"
        done
    else
        find . \( -path ./build -o -path ./REVISION \) -prune -o ! -type d -printf '%P\0'
    fi
}

mkdir -p "$(dirname "$file")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/$name"
list_files | tar --null -T - -cf - | tar -C "$folder/$name" --no-same-owner -xf -
printf '%s\n' "$revision" >"$folder/$name/REVISION"
tar -C "$folder" --format=gnu --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
    --mode='u+rw,go+u,go-w' -cf - "$name" | gzip -9n >"$file.$$"
mv "$file.$$" "$file" # whole at any moment
