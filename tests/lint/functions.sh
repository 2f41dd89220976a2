#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reports the longest functions and fails on one over 70 lines, and on a name that functions in two
# files have, static or not: a debugger and grep must tell them apart.
set -eu
cd "$(dirname "$0")/../.."

longest_allowed=70
failed=0

# "lines name file:line", longest first
list_functions() {
    find base unwind pprof formats conf exporters agent -name '*.c' -print0 |
        xargs -0 ctags --c-kinds=f -x --_xformat='%n %{end} %N %F' |
        awk '{ print $2 - $1 + 1, $3, $4 ":" $1 }' | sort -rn
}

# "name file", headers, too: an inline function there is one of each file that includes it
list_names() {
    find base unwind pprof formats conf exporters agent -name '*.[ch]' -print0 |
        xargs -0 ctags --langmap=C:.c.h --c-kinds=f -x --_xformat='%N %F' | sort -u
}

functions=$(list_functions)
if [[ -n $functions ]]; then
    echo "$functions" | awk -v max=$longest_allowed '
        { length_of[NR] = $1 }
        NR <= 5 { print "functions: " $0 }
        $1 > max { print "functions: " $2 " is longer than " max " lines"; failed = 1 }
        END {
            printf "functions: %d, median %d lines, p90 %d\n", NR,
                   length_of[int((NR + 1) / 2)], length_of[int(NR / 10) + 1]
            exit failed
        }' || failed=1
fi

doubles=$(list_names | awk '{ files[$1] = files[$1] " " $2; count[$1]++ }
    END { for (name in count) if (count[name] > 1) print "functions: " name " is in" files[name] }' | sort)
if [[ -n $doubles ]]; then
    echo "$doubles"
    failed=1
fi

exit "$failed"
