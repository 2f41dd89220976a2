#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the ban list: calls that overrun or mislead anywhere, and in libraries those that are
# the agent's: printing, ending the process, environment, clock, threads.
#
# Reads BUILD: the libraries' objects there may hold no writable statics.
set -eu
cd "$(dirname "$0")/../.."

everywhere='sprintf|vsprintf|strcpy|strcat|stpcpy|strtok|atoi|atol|atoll|atof|gets|alloca|tmpnam|mktemp'
printing='printf|vprintf|fprintf|vfprintf|dprintf|puts|fputs|putchar|putc|perror|syslog'
ending='exit|_exit|_Exit|quick_exit|abort|assert'
environment='getenv|secure_getenv|setenv|putenv'
clock='clock_gettime|gettimeofday|time|clock'
threads='pthread_create|thrd_create|fork|signal|sigaction'
libraries="$printing|$ending|$environment|$clock|$threads"
failed=0

# Comments, strings and characters go, as they may name anything; lines stay where they are.
strip='
import re, sys
token = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'"'"'(?:\\.|[^'"'"'\\\n])*'"'"'""", re.DOTALL)
text = open(sys.argv[1], encoding="utf-8").read()
text = token.sub(lambda match: "0" + "\n" * match[0].count("\n"), text)
print("\n".join("%d: %s" % pair for pair in enumerate(text.split("\n"), 1)))
'

# A call of a bare name: not a member (->time), not a part of another name.
check_names() { # file, its code, names
    local hits
    hits=$(grep -E "(^|[^A-Za-z0-9_.>])($3)[[:space:]]*\\(" <<<"$2" || true)
    [[ -z $hits ]] && return
    echo "banned: $1:"
    echo "$hits"
    failed=1
}

# hidden.c is libcurl's heap: its functions for memory have no place for a context. curl_api.c has the
# addresses of libcurl's functions, written once.
check_statics() {
    local hits
    [[ $1 != */exporters/http/hidden.o && $1 != */exporters/http/curl_api.o ]] || return 0
    hits=$(objdump -t "$1" | awk 'NF > 3 && ($(NF-2) == ".data" || $(NF-2) == ".bss" || $(NF-2) ~ /^\.t(data|bss)/) {
        if ($(NF-1) !~ /^0+$/) print "  " $NF }')
    [[ -z $hits ]] && return
    echo "banned: mutable statics in $1:"
    echo "$hits"
    failed=1
}

while read -r file; do
    code=$("${PYTHON:-python3}" -c "$strip" "$file")
    check_names "$file" "$code" "$everywhere"
    case $file in
    base/* | unwind/* | pprof/* | formats/* | conf/* | exporters/*) check_names "$file" "$code" "$libraries" ;;
    esac
done < <(find base unwind pprof formats conf exporters agent tests/{unit,images,fakes,fuzz,tools,bench} -name '*.[ch]')
# Of the files that are there now: a build folder may have objects of others.
while read -r file; do
    object=${BUILD:-build}/${file%.c}.o
    [[ ! -e $object ]] || check_statics "$object"
done < <(find base unwind pprof formats conf exporters -name '*.c')
exit "$failed"
