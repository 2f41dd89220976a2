#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts a small shop, has pystrobe watch it for ten seconds, and prints where its time went.
# Reads BUILD and MAKE; writes below $BUILD only (its part is $BUILD/demo).
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
seconds=${DEMO_SECONDS:-10}

sh tests/setup/deps.sh demo
echo "demo: building"
"${MAKE:-make}" --no-print-directory -s -j"$(nproc)" all

mkdir -p "$build/demo"
folder=$(cd "$build/demo" && pwd)
rm -rf "$folder"
mkdir -p "$folder/store" "$folder/tmp"

cat >"$folder/pystrobe.ini" <<END
[agent]
rate = 99Hz
interval = 5s
max_cpu = 10%

[target shop]
cmdline = tests/demo/shop[.]py

[exporter local]
type = store
path = $folder/store
END

# Where the kernel lets only parents read a process, the agent needs to be root.
as_reader() {
    if [[ $(id -u) == 0 || $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0) == 0 ]]; then
        "$@"
    else
        sudo "$@"
    fi
}

shop=
end_shop() {
    [[ -z $shop ]] || kill "$shop" 2>/dev/null || true
}
trap end_shop EXIT

TMPDIR="$folder/tmp" PYTHONDONTWRITEBYTECODE=1 python3 tests/demo/shop.py --seconds $((seconds + 30)) &
shop=$!
echo "demo: the shop is process $shop; watching it for $seconds s"
as_reader timeout --signal=TERM --preserve-status "$seconds" \
    "$build/pystrobe" agent -c "$folder/pystrobe.ini"
kill -0 "$shop" || {
    echo "demo: the shop ended too early" >&2
    exit 1
}

echo
"$build/pystrobe" report --store "$folder/store"
cat <<END

The profiles lie in $folder/store, one gzipped pprof file for each interval.
The configuration was $folder/pystrobe.ini.

What to type next:
  $build/pystrobe report --type wall --store $build/demo/store   the same by time that passed
  $build/pystrobe record -o app.pb.gz -- python3 app.py        profile one program into a file
  $build/pystrobe dump --pid PID                              where a process is right now
  $build/pystrobe --help                                      all that it can do
END
