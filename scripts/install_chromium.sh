#!/bin/sh
# Sees to it that this machine has a Chromium, which the browser tests drive. Says nothing when there is one.
#
# Looked for, in this order: $VERACITY_CHROMIUM, chromium, chromium-browser, google-chrome. Where there is none: Debian's
# package (root or sudo), else Playwright's. It may be called twice, and twice at once.
set -u

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
BROWSERS=${PLAYWRIGHT_BROWSERS_PATH:-$CACHE/ms-playwright}
WAITS="0 5 15" # seconds before each attempt: mirrors have bad minutes

# Ubuntu's chromium-browser is a script that only names a snap, and a browser without its libraries does not start: so
# it has to tell its version.
runs() {
    "$1" --version >/dev/null 2>&1
}

found() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && runs "$name" && return 0
    done
    return 1
}

# Playwright keeps its browsers where no PATH leads, so whoever has only that one is told how to name it.
found_of_playwright() {
    for path in "$BROWSERS"/chromium-*/chrome-linux*/chrome "$BROWSERS"/chromium-*/chrome-mac*/*.app/Contents/MacOS/*; do
        if [ -x "$path" ] && runs "$path"; then
            echo "install_chromium: only Playwright's is here: set VERACITY_CHROMIUM=$path"
            return 0
        fi
    done
    return 1
}

refuse() {
    echo "install_chromium: $1" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 "$@"
}

install_package() {
    command -v apt-get >/dev/null 2>&1 && as_root true 2>/dev/null || return 1
    for wait in $WAITS; do
        sleep "$wait"
        apt update && apt install --no-install-recommends chromium && return 0
    done
    return 1
}

install_with_playwright() {
    for python in "$ROOT/.venv/bin/python" python3; do
        "$python" -c 'import playwright' 2>/dev/null && "$python" -m playwright install chromium && return 0
    done
    return 1
}

# Whoever comes second waits here, and then finds what the first one installed.
wait_for_others() {
    command -v flock >/dev/null 2>&1 || return 0
    lock=$CACHE/veracity-chromium.lock
    mkdir -p "$CACHE" && (: >>"$lock") && exec 9>>"$lock" && flock 9
}

if [ -n "${VERACITY_CHROMIUM:-}" ]; then
    runs "$VERACITY_CHROMIUM" || refuse "VERACITY_CHROMIUM names $VERACITY_CHROMIUM, which does not run."
    exit 0
fi
{ found || found_of_playwright; } && exit 0
wait_for_others
{ found || found_of_playwright; } && exit 0
{ install_package && found; } 9>&- && exit 0
{ install_with_playwright && found_of_playwright; } 9>&- && exit 0
refuse "no Chromium could be installed, neither Debian's package (needs root or sudo) nor Playwright's; install one and set VERACITY_CHROMIUM to its path."
