#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the RPM package from what dist.sh has packed:
#
#   rpm.sh SOURCE VERSION EPOCH FOLDER    FOLDER gets the package
#
# On a system whose own packages are others (Debian's rpmbuild works, too), rpm cannot know that
# what it needs is there; the compiler says if it is not.
set -euo pipefail

source=$(realpath "$1")
version=$2
export SOURCE_DATE_EPOCH=$3
folder=$4

mkdir -p "$folder"
folder=$(realpath "$folder")
top=$folder/top
rm -rf "$top"
mkdir -p "$top/SOURCES" "$top/SPECS"
cp "$source" "$top/SOURCES/"
spec=$top/SPECS/pystrobe.spec
changelog="* $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y') pystrobe developers <pystrobe@users.noreply.github.com> - $version-1"
tar -xOzf "$source" "pystrobe-$version/packaging/rpm/pystrobe.spec.in" |
    sed -e "s/@VERSION@/$version/" -e "s/^@CHANGELOG@\$/$changelog\n- What is new stands in CHANGELOG.md./" >"$spec"

unset MAKEFLAGS MAKEOVERRIDES MFLAGS BUILD PREFIX
options=(--define "_topdir $top" --define "_buildhost localhost"
    --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1")
[[ ! -x /usr/bin/dpkg ]] || options+=(--nodeps)
rpmbuild -bb "${options[@]}" "$spec"
cp "$top"/RPMS/*/*.rpm "$folder/"
rm -rf "$top"
ls "$folder"
