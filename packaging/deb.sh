#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian package from what dist.sh has packed:
#
#   deb.sh SOURCE VERSION EPOCH ARCH FOLDER    FOLDER gets the packages
#
# With an ARCH other than this machine's it is cross-compiled; that takes crossbuild-essential-ARCH
# and the libraries of that architecture (dpkg --add-architecture ARCH).
set -euo pipefail

source=$(realpath "$1")
version=$2
export SOURCE_DATE_EPOCH=$3
arch=$4
folder=$5

mkdir -p "$folder"
folder=$(realpath "$folder")
rm -rf "$folder/source"
mkdir "$folder/source"
umask 022
tar -C "$folder/source" --strip-components=1 -xzf "$source"
cd "$folder/source"
cp -R packaging/debian debian
# One version, in the Makefile: the changelog that Debian wants is written from it.
cat >debian/changelog <<END
pystrobe ($version-1) unstable; urgency=medium

  * Packaged as it is; the changelog beside this one says what is new.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
unset MAKEFLAGS MAKEOVERRIDES MFLAGS BUILD PREFIX
native=$(dpkg --print-architecture)
DEB_BUILD_OPTIONS=parallel=$(nproc)
export DEB_BUILD_OPTIONS
if [[ $arch == "$native" ]]; then
    dpkg-buildpackage -us -uc -b
else
    dpkg-buildpackage -us -uc -b --host-arch "$arch" -Pcross
fi
cd ..
rm -rf source
ls -- *"_${arch}.deb"
