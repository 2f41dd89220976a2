#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that are missing: deps.sh build | demo | test | packages | browser | maven
# deps.sh check: says which of those for `make` are missing, and installs nothing. Reads CC.
#
# build: what `make` needs; demo: also a Python; test: also what the tests and `make lint` run;
# packages: what makes and tests packages, without the rest; browser: what looks at our pages;
# maven: what fetches CPythons that Debian has not (tests/setup/jars.py).
# Nothing but the system's package manager fetches anything; if all is there, nothing is said.
set -eu

PATH=$PATH:/usr/sbin:/sbin
mode=${1:-test}

# set, package on Debian and Ubuntu, package on Fedora ("-": none), how to tell that it is there:
# a command, a pkg-config module, or the package itself.
table='
build gcc                    gcc                 command:gcc
build make                   make                command:make
build pkg-config             pkgconf-pkg-config  command:pkg-config
build libc6-dev              glibc-devel         package
build protobuf-c-compiler    protobuf-c-compiler command:protoc-c
build libprotobuf-c-dev      protobuf-c-devel    module:libprotobuf-c
build libcurl4-openssl-dev   libcurl-devel       module:libcurl
build zlib1g-dev             zlib-devel          module:zlib
build libdeflate-dev        libdeflate-devel    module:libdeflate
build libinih-dev            inih-devel          module:inih
build libmicrohttpd-dev      libmicrohttpd-devel module:libmicrohttpd
build libncurses-dev         ncurses-devel       module:ncursesw
demo  python3                python3             command:python3
test  libcmocka-dev          libcmocka-devel     module:cmocka
test  protobuf-compiler      protobuf-compiler   command:protoc
test  python3-pytest         python3-pytest      package
test  python3-pytest-xdist   python3-pytest-xdist package
test  python3-venv           python3             package
test  python3-protobuf       python3-protobuf    package
test  python3-grpcio         python3-grpcio      package
test  python3-jsonschema     python3-jsonschema  package
test  libpython3-dev         python3-devel       package
test  clang                  clang               command:clang
test  clang-format-14        clang-tools-extra   command:clang-format-14
test  clang-tidy-14          -                   command:clang-tidy-14
test  libclang-rt-14-dev     compiler-rt         package
test  valgrind               valgrind            command:valgrind
test  libc6-dbg              -                   package
test  lcov                   lcov                command:lcov
test  golang-go              golang              command:go
test  debootstrap            debootstrap         command:debootstrap
test  debian-archive-keyring debian-keyring      package
test  ca-certificates        ca-certificates     package
test  git                    git                 command:git
test  shellcheck             ShellCheck          command:shellcheck
test  mandoc                 mandoc              command:mandoc
test  strace                 strace              command:strace
test  tini                   tini                command:tini
test  tmux                   tmux                command:tmux
test  libpython3.11-testsuite python3-test       package
test  runc                   runc                command:runc
test  golang-github-containers-common containers-common package
test  universal-ctags        ctags               command:ctags
packages debhelper           -                   command:dh
packages dpkg-dev            -                   command:dpkg-buildpackage
packages lintian             -                   command:lintian
packages piuparts            -                   command:piuparts
packages mandoc              mandoc              command:mandoc
packages rpm                 rpm-build           command:rpmbuild
packages rpmlint             rpmlint             command:rpmlint
packages systemd             systemd             command:systemd-analyze
packages systemd-container   systemd-container   command:systemd-nspawn
packages debootstrap         debootstrap         command:debootstrap
packages debian-archive-keyring debian-keyring   package
packages ca-certificates     ca-certificates     package
packages git                 git                 command:git
packages golang-go           golang              command:go
packages python3-pytest      python3-pytest      package
packages zsh                 zsh                 command:zsh
packages fish                fish                command:fish
packages faketime            libfaketime         command:faketime
packages python3-pip         python3-pip         package
packages python3-yaml        python3-pyyaml      package
packages python3-jsonschema  python3-jsonschema  package
packages qemu-user-static    qemu-user-static    command:qemu-aarch64-static
packages qemu-system-x86     qemu-system-x86-core command:qemu-system-x86_64
browser chromium             chromium            command:chromium
browser npm                  npm                 command:npm
maven maven                  maven               command:mvn
'

case $mode in
build) sets=' build ' ;;
demo) sets=' build demo ' ;;
test) sets=' build demo test ' ;;
packages) sets=' build packages ' ;;
browser) sets=' build demo test browser ' ;;
maven) sets=' maven ' ;;
check) sets=' build ' ;;
*)
    echo "usage: deps.sh build | demo | test | packages | browser | maven | check" >&2
    exit 64
    ;;
esac

if command -v apt-get >/dev/null; then
    manager=apt
elif command -v dnf >/dev/null; then
    manager=dnf
else
    manager=none
fi

package_is_installed() {
    case $manager in
    apt) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    dnf) rpm -q "$1" >/dev/null 2>&1 ;;
    *) return 0 ;; # cannot be told; the build says what it lacks
    esac
}

is_there() { # how, package
    case $1 in
    command:*) command -v "${1#command:}" >/dev/null ;;
    module:*) pkg-config --exists "${1#module:}" 2>/dev/null ;;
    *) package_is_installed "$2" ;;
    esac
}

list_missing() {
    echo "$table" | while read -r set debian fedora how; do
        case $sets in *" ${set:-none} "*) ;; *) continue ;; esac
        package=$debian
        [ $manager = dnf ] && package=$fedora
        [ "$package" = - ] || is_there "$how" "$package" || echo "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "deps: needs root: run as root, or install sudo" >&2
        exit 1
    fi
}

# A newer release may lack a pinned tool: what only the tests use is then named and left out.
leave_out_unknown() {
    for package; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
        else
            echo "deps: this release has no $package; going on without it" >&2
        fi
    done
}

# What `make` cannot do without, tried as it will use them; a package manager may know nothing of them.
headers='curl/curl.h zlib.h libdeflate.h ini.h microhttpd.h curses.h protobuf-c/protobuf-c.h'

list_absent() {
    for command in protoc-c "${CC:-cc}"; do
        command -v "${command%% *}" >/dev/null || echo "${command%% *}"
    done
    for header in $headers; do
        # shellcheck disable=SC2086 # CC may have words behind it
        echo "#include <$header>" | ${CC:-cc} -E -x c - >/dev/null 2>&1 || echo "$header"
    done
}

if [ "$mode" = check ]; then
    absent=$(list_absent | tr '\n' ' ')
    [ -n "$absent" ] || exit 0
    packages=$(list_missing | tr '\n' ' ')
    {
        echo "make: these are missing: ${absent% }"
        echo "make: install them with: make deps DEPS=build"
        [ -z "$packages" ] || echo "make: or by yourself, the packages: ${packages% }"
    } >&2
    exit 69
fi

missing=$(list_missing)
[ -n "$missing" ] || exit 0

# shellcheck disable=SC2086 # a list of words
set -- $missing
echo "deps: installing $*"
case $manager in
apt)
    as_root apt-get -q -o Acquire::Retries=3 update
    [ "$mode" != test ] || missing=$(leave_out_unknown "$@")
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 --no-install-recommends install $missing
    ;;
dnf) as_root dnf -q -y install "$@" ;;
none)
    echo "deps: neither apt-get nor dnf is here; please install these yourself: $*" >&2
    exit 1
    ;;
esac
