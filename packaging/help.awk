# SPDX-License-Identifier: Apache-2.0
# Prints the targets of `make help` by group: awk -F'|' -v groups="NAME:TARGET... ,NAME:TARGET..." on lines
# "target|what it does". A target "bench-%" stands for all that begin so; what no group names comes last.
{ text[$1] = sprintf("  %-16s %s", $1, $2); names[NR] = $1 }

function show(name)
{
    if (name in text)
        print text[name]
    delete text[name]
}

function show_all(start, k)
{
    for (k = 1; k <= NR; k++)
        if (index(names[k], start) == 1)
            show(names[k])
}

END {
    count = split(groups, group, ",")
    for (i = 1; i <= count; i++) {
        split(group[i], part, ":")
        print part[1] ":"
        words = split(part[2], word, " ")
        for (j = 1; j <= words; j++) {
            if (sub(/%/, "", word[j]))
                show_all(word[j])
            else
                show(word[j])
        }
    }
    show_all("")
}
