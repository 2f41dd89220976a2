#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes HTML of manual pages: man_html.sh VERSION FOLDER PAGE...
#
# FOLDER gets PAGE.html of each and their style. Links between them work without a network; pages of
# others are linked to where they can be read.
set -eu

version=$1
folder=$2
shift 2

rm -rf "$folder" "$folder.new"
mkdir -p "$folder.new"
cp packaging/man/manual.css "$folder.new"
for page; do
    : >"$folder.new/${page##*/}" # mandoc takes the first form of links where there is the page itself
done
for page; do
    page=$(realpath "$page")
    (cd "$folder.new" && mandoc -T html -I "os=pystrobe $version" \
        -O 'style=manual.css,toc,man=%N.%S.html;https://manpages.debian.org/%N.%S' "$page" >"${page##*/}.html")
done
for page; do
    rm "$folder.new/${page##*/}"
done
mv "$folder.new" "$folder"
