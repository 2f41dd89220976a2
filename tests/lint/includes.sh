#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks which folder includes headers of which, the number of files in a folder, that README names
# each folder, that one header of each folder says what the folder knows, that every header compiles
# alone, and that one header of the tests includes cmocka.
#
# The table below is the only place that says which folder may use which. A file may include the
# headers of its own folder, of the folders in its row, and of base. Of a library, other folders may
# include its public headers only (PUBLIC).
#
#   includes.sh [TREE]    TREE is the checkout to read (default: the one that this script is in)
#
# Reads CC, WARN and CPPFLAGS as the Makefile has them.
set -eu
cd "${1:-"$(dirname "$0")/../.."}"

# folder: folders that it may use. A folder stands below those that it uses.
TABLE='
base:
unwind/read:
unwind/fast:        unwind/read
unwind/layouts:
unwind/locate:      unwind/read unwind/layouts
unwind/objects:     unwind/read unwind/layouts
unwind/stack:       unwind/read unwind/layouts unwind/objects unwind/fast
unwind/tasks:       unwind/read unwind/layouts unwind/objects unwind/fast unwind/stack unwind/locate
unwind:             unwind/read unwind/layouts unwind/objects unwind/fast unwind/stack unwind/locate unwind/tasks
pprof:
formats:            pprof
exporters/http:
exporters:          exporters/http
conf:               exporters
agent/host:
agent/proc:         agent/host
agent/child:        agent/host agent/proc
agent/discover:     agent/host agent/proc agent/child unwind conf
agent/dump:         agent/host agent/proc agent/child unwind
agent/report:       agent/host agent/proc agent/child pprof formats exporters
agent/exec:         agent/host agent/proc agent/child
agent/sampling:     agent/host agent/proc agent/child agent/discover unwind pprof conf
agent/supervisor:   agent/host agent/proc agent/child agent/discover agent/dump agent/sampling unwind pprof conf
agent/cli:          agent/host agent/proc agent/child agent/discover agent/dump agent/report agent/exec agent/sampling unwind pprof formats conf
agent/delivery:     agent/host agent/proc agent/child agent/sampling pprof conf exporters
agent/top:          agent/host agent/proc agent/child agent/dump agent/report agent/sampling agent/cli unwind pprof
agent/serve:        agent/host agent/proc agent/child agent/discover agent/report agent/sampling agent/supervisor agent/delivery pprof formats conf exporters
agent/commands:     agent/host agent/proc agent/child agent/discover agent/dump agent/report agent/exec agent/sampling agent/supervisor agent/cli agent/delivery agent/top agent/serve unwind pprof formats conf exporters
'

# The headers of the libraries that other folders may include.
PUBLIC='unwind/cpy.h pprof/pprof.h pprof/feed.h pprof/otlp.h pprof/stacks.h pprof/timeline.h formats/format.h
conf/conf.h exporters/exporter.h exporters/settings.h exporters/batch.h exporters/file_name.h exporters/profile.h exporters/store_name.h'

FILES_MAX=45 # C and header files in a folder
failed=0

complain() {
    echo "includes: $*"
    failed=1
}

declare -A allowed
while IFS=: read -r folder uses; do
    [[ -z $folder ]] || allowed[$folder]=" $uses "
done <<<"$TABLE"

is_public() { # header
    [[ " ${PUBLIC//$'\n'/ } " == *" $1 "* ]]
}

# Between folders of one library (unwind/...) and of the agent every header may be used.
is_allowed() { # folder, header
    local folder=$1 header=$2 used=${2%/*}
    [[ $header == */* ]] || used=$folder # beside the file itself
    if [[ $used == "$folder" || $used == base ]]; then return 0; fi
    if [[ ${header%%/*} == "${folder%%/*}" ]] && is_public "$header"; then return 0; fi
    [[ ${allowed[$folder]} == *" $used "* ]] || return 1
    [[ ${used%%/*} == "${folder%%/*}" ]] || is_public "$header"
}

# "FILE HEADER" for each include of a header of the tree: "..." and generated ones, which the build gives as <...>.
list_includes() {
    find base unwind pprof formats conf exporters agent -name '*.[ch]' -exec sed -n -E \
        -e '/^[[:space:]]*#[[:space:]]*include[[:space:]]*"/{F;s/.*"([^"]+)".*/\1/p}' \
        -e '/^[[:space:]]*#[[:space:]]*include[[:space:]]*<(base|unwind|pprof|formats|conf|exporters|agent)\//{F;s/.*<([^>]+)>.*/\1/p}' {} + |
        paste -d ' ' - -
}

check_header_alone() {
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} ${WARN:--std=c11 -Wall -Wextra} -Werror ${CPPFLAGS:--D_GNU_SOURCE -I.} -fsyntax-only -x c \
        -include "$1" /dev/null || complain "$1 does not compile alone"
}

# How many headers begin with "Folder NAME: knows ..." or "The folder NAME/ knows ...".
count_introductions() { # folder
    grep -lE "^ \* (Folder $1: knows|The folder $1/ knows) " "$1"/*.h | wc -l
}

for folder in "${!allowed[@]}"; do
    [[ $(count_introductions "$folder") == 1 ]] ||
        complain "not one header of $folder, but $(count_introductions "$folder"), begins with \"Folder $folder: knows ...\""
    grep -qE "^\| \`$folder/?\`" README.md || complain "README.md has no row for $folder in its page of architecture"
done

while read -r count folder; do
    [[ -n ${allowed[$folder]+there} ]] || complain "$folder is not in the table of folders (tests/lint/includes.sh)"
    [[ $count -le $FILES_MAX ]] || complain "$folder has $count C and header files, more than $FILES_MAX"
done < <(find base unwind pprof formats conf exporters agent -name '*.[ch]' | sed 's|/[^/]*$||' | sort | uniq -c)

while read -r file header; do
    folder=${file%/*}
    [[ -n ${allowed[$folder]+there} ]] || continue # said above
    is_allowed "$folder" "$header" ||
        complain "$file may not include $header: $folder may use${allowed[$folder]% } (tests/lint/includes.sh)"
done < <(list_includes)

while read -r file; do
    complain "$file includes cmocka.h, which tests/unit/unit_test.h does for all"
done < <(grep -rl --include='*.[ch]' '<cmocka\.h>' tests 2>/dev/null | grep -vx tests/unit/unit_test.h)

while read -r header; do
    check_header_alone "$header"
done < <(find base unwind pprof formats conf exporters agent -name '*.h')
exit "$failed"
