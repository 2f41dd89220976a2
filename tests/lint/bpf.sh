#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the bytes of the BPF program in the source to what its source makes.
set -eu
cd "$(dirname "$0")/../.."

# The version is pinned, as each makes a little other code.
if ! command -v clang-14 >/dev/null; then
    echo "bpf: not looked at: there is no clang-14"
    [[ -z ${CI:-} ]]
    exit
fi
made=$(mktemp)
trap 'rm -f "$made"' EXIT
make -s bpf BUILD="${BUILD:-build}" BPF_CC=clang-14 BPF_INC="$made" >/dev/null
if ! cmp -s "$made" unwind/fast/bpf_reader.bpf.inc; then
    echo "bpf: unwind/fast/bpf_reader.bpf.inc is not what unwind/fast/bpf_reader.bpf.c makes: make bpf"
    exit 1
fi
echo "bpf: $(grep -c '^0x' "$made") instructions"
