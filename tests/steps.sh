#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs make targets, all of them even if one fails, and sums their counts.
#
#   steps.sh DIR TARGET... [/ TARGET...]...    DIR keeps each target's output
#
# The targets between slashes are a lane: they run one after the other. Lanes run side by side, those
# after the first at a lower priority: they get what the first leaves of the machine, and cost it
# little time. A lone lane's output is shown as it comes; of several, each target's as a whole once it
# has ended, and now and then a line says what is running.
#
# A target's count is its last line "N passed, N failed, N skipped"; without one it counts as
# one test. Ends with a table of counts and times, each "failed: NAME" and "second try: NAME" once more, and one
# line for all.
#
# `make -k -j3 -O` runs targets side by side, and shows each one's output as a whole. It has no lanes (of two targets in an
# order, -k leaves the second out where the first fails), no priorities, sums or times, and no sign of life for a CI that
# ends what says nothing for minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

LOWER=(nice -n 10)
read -ra make <<<"${MAKE:-make}"
ALIVE_S=60
TIMEFORMAT='%R %U %S'

logs=$1
shift
mkdir -p "$logs"
: >"$logs/lock"
targets=()
for word; do
    [[ $word == / ]] || targets+=("$word")
done
for target in "${targets[@]}"; do
    rm -f "$logs/$target".{log,time,count,running}
done

# Prints what comes in, with nothing of another lane in between.
say() {
    flock "$logs/lock" cat
}

# What failed of a target: the names that it gave, or its last words.
name_failures() { # target
    if grep -q '^failed: ' "$logs/$1.log"; then
        sed -n "s/^failed: /failed: $1: /p" "$logs/$1.log" | sort -u
    else
        tail -n 15 "$logs/$1.log" | sed "s/^/failed: $1: /"
    fi
}

# Leaves "PASSED FAILED SKIPPED WALL CPU" in the target's .count.
count_step() { # target, exit status
    local line passed failed skipped
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$1.log" | tail -n 1 || true)
    if [[ -z $line ]]; then
        line="$(($2 == 0)) passed, $(($2 != 0)) failed, 0 skipped"
    fi
    read -r passed _ failed _ skipped _ <<<"$line"
    if [[ $2 != 0 && $failed == 0 ]]; then
        failed=1
    fi
    awk -v counts="$passed $failed $skipped" 'END { printf "%s %.0f %.0f\n", counts, $1, $2 + $3 }' \
        "$logs/$1.time" >"$logs/$1.count"
}

tell_step() { # target
    local passed failed skipped wall cpu
    read -r passed failed skipped wall cpu <"$logs/$1.count"
    echo "== make $1: $passed passed, $failed failed, $skipped skipped in $wall s, $cpu s of CPU"
}

run_shown() { # target
    local status=0
    echo "== make $1"
    { time "${make[@]}" "$1" </dev/null 2>&1 | tee "$logs/$1.log"; } 2>"$logs/$1.time" || status=$?
    count_step "$1" "$status"
    tell_step "$1"
}

run_aside() { # target, words before make
    local target=$1 status=0
    shift
    echo "== make $target begins" | say
    date +%s >"$logs/$target.running"
    { time "$@" "${make[@]}" "$target" </dev/null >"$logs/$target.log" 2>&1; } 2>"$logs/$target.time" || status=$?
    rm "$logs/$target.running"
    count_step "$target" "$status"
    { echo "== make $target" && cat "$logs/$target.log" && tell_step "$target"; } | say
}

run_lane() { # how many words come before make, those words, targets
    local before=("${@:2:$1}") target
    for target in "${@:$1 + 2}"; do
        run_aside "$target" "${before[@]}"
    done
}

# A line a minute, for whoever watches a log for signs of life.
show_life() {
    local running name
    while sleep "$ALIVE_S" >/dev/null; do # (which outlives us, and would keep a pipe open)
        for running in "$logs"/*.running; do
            name=$(basename "$running" .running)
            [[ -s $running ]] || continue
            printf '== %s runs for %d s: %s\n' "$name" $(($(date +%s) - $(cat "$running"))) \
                "$(tail -n 1 "$logs/$name.log" | tail -c 100)"
        done | say
    done
}

run_lanes() { # lanes
    local words=() lane=() word pids=() pid life
    show_life 2>/dev/null &
    life=$!
    for word in "$@" /; do
        if [[ $word != / ]]; then
            lane+=("$word")
            continue
        fi
        run_lane "${#words[@]}" "${words[@]}" "${lane[@]}" &
        pids+=($!)
        words=("${LOWER[@]}")
        lane=()
    done
    trap 'kill "$life" "${pids[@]}" 2>/dev/null' EXIT
    for pid in "${pids[@]}"; do
        wait "$pid" || true # its targets without a count tell
    done
    kill "$life" 2>/dev/null || true # whose sleep somebody may have killed
    trap - EXIT
}

# One that never ran to its end has failed.
add_up() {
    local target passed failed skipped wall cpu
    printf '%-16s %7s %7s %7s %7s %7s\n' step passed failed skipped 'wall s' 'CPU s'
    for target in "${targets[@]}"; do
        [[ -s $logs/$target.count ]] || echo "0 1 0 0 0" >"$logs/$target.count"
        read -r passed failed skipped wall cpu <"$logs/$target.count"
        printf '%-16s %7d %7d %7d %7d %7d\n' "$target" "$passed" "$failed" "$skipped" "$wall" "$cpu"
        sums=($((sums[0] + passed)) $((sums[1] + failed)) $((sums[2] + skipped)) $((sums[3] + cpu)))
    done
    printf '%-16s %7d %7d %7d %7d %7d\n' together "${sums[@]:0:3}" "$SECONDS" "${sums[3]}"
    for target in "${targets[@]}"; do
        read -r _ failed _ <"$logs/$target.count"
        [[ $failed == 0 ]] || name_failures "$target"
        [[ ! -f $logs/$target.log ]] || sed -n "s/^second try: /second try: $target: /p" "$logs/$target.log" | sort -u
    done
}

SECONDS=0
sums=(0 0 0 0)
if [[ " $* " == *" / "* ]]; then
    run_lanes "$@"
else
    for target in "${targets[@]}"; do
        run_shown "$target"
    done
fi
add_up
echo "${sums[0]} passed, ${sums[1]} failed, ${sums[2]} skipped"
[[ ${sums[1]} == 0 && ${sums[0]} != 0 ]]
