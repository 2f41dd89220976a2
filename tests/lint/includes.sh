#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds who may include whom, and that every header compiles alone.
#
#   base                              nothing but base
#   unwind, pprof, conf, exporters    themselves and base
#   formats                           itself, base and what it needs of pprof
#   agent                             itself, base and the public headers of the libraries
#
# Reads CC, WARN and CPPFLAGS as the Makefile has them.
set -eu
cd "$(dirname "$0")/../.."

public='unwind/cpy.h pprof/pprof.h pprof/feed.h pprof/otlp.h pprof/stacks.h formats/format.h'
public+=' conf/conf.h exporters/exporter.h exporters/spool.h exporters/store_name.h'
profiles='pprof/pprof.h pprof/stacks.h pprof/utf8.h'
failed=0

complain() {
    echo "includes: $*"
    failed=1
}

is_allowed() { # folder, header
    local folder=$1 header=$2
    case $header in
    "$folder"/* | base/*) return 0 ;;
    */*)
        [[ $folder == agent && " $public " == *" $header "* ]] ||
            [[ $folder == formats && " $profiles " == *" $header "* ]]
        ;;
    *) [[ -e $folder/$header ]] ;; # beside the file itself
    esac
}

# Only headers of the tree: "..." and generated ones, which the build gives as <...>.
list_includes() {
    sed -n -E \
        -e 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)".*/\1/p' \
        -e 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*<((base|unwind|pprof|formats|conf|exporters|agent)\/[^>]+)>.*/\1/p' "$1"
}

check_file() {
    local file=$1 folder=${1%%/*} header
    while read -r header; do
        is_allowed "$folder" "$header" || complain "$file may not include $header"
    done < <(list_includes "$file")
}

check_header_alone() {
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} ${WARN:--std=c11 -Wall -Wextra} -Werror ${CPPFLAGS:--D_GNU_SOURCE -I.} -fsyntax-only -x c \
        -include "$1" /dev/null || complain "$1 does not compile alone"
}

for file in {base,unwind,pprof,formats,conf,exporters,agent}/*.[ch]; do
    [[ -e $file ]] || continue
    check_file "$file"
    [[ $file != *.h ]] || check_header_alone "$file"
done
exit "$failed"
