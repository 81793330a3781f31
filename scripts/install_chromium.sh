#!/bin/sh
# Installs Chromium for the browser tests, unless this machine has one. Prints nothing when it has.
#
# Looks for $VERACITY_CHROMIUM, chromium-headless-shell, chromium, chromium-browser and google-chrome, in this order.
# Otherwise it installs Debian's package (needs root or sudo), else Playwright's. The headless shell takes half the
# processor time. Idempotent, and safe to run concurrently.
set -u

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
CACHE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}
BROWSERS=${PLAYWRIGHT_BROWSERS_PATH:-$CACHE/ms-playwright}
RETRY_DELAYS="0 5 15" # seconds before each attempt, since mirrors fail at times

# The browser must print its version: Ubuntu's chromium-browser only points to a snap, and a browser without its libraries
# does not start.
runs() {
    "$1" --version >/dev/null 2>&1
}

find_installed() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && runs "$name" && return 0
    done
    return 1
}

# Playwright's browsers are not on the PATH, so this prints how to select one.
find_playwright() {
    for path in "$BROWSERS"/chromium-*/chrome-linux*/chrome "$BROWSERS"/chromium-*/chrome-mac*/*.app/Contents/MacOS/*; do
        if [ -x "$path" ] && runs "$path"; then
            echo "install_chromium: found only Playwright's Chromium: set VERACITY_CHROMIUM=$path"
            return 0
        fi
    done
    return 1
}

fail() {
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
    for delay in $RETRY_DELAYS; do
        sleep "$delay"
        apt update || continue
        for package in chromium-headless-shell chromium; do
            apt install --no-install-recommends "$package" && return 0
        done
    done
    return 1
}

install_with_playwright() {
    for python in "$ROOT/.venv/bin/python" python3; do
        "$python" -c 'import playwright' 2>/dev/null && "$python" -m playwright install chromium && return 0
    done
    return 1
}

# A second process waits here, and then finds the browser that the first one installed.
lock() {
    command -v flock >/dev/null 2>&1 || return 0
    lock_file=$CACHE/veracity-chromium.lock
    mkdir -p "$CACHE" && (: >>"$lock_file") && exec 9>>"$lock_file" && flock 9
}

if [ -n "${VERACITY_CHROMIUM:-}" ]; then
    runs "$VERACITY_CHROMIUM" || fail "VERACITY_CHROMIUM names $VERACITY_CHROMIUM, which does not run."
    exit 0
fi
{ find_installed || find_playwright; } && exit 0
lock
{ find_installed || find_playwright; } && exit 0
{ install_package && find_installed; } 9>&- && exit 0
{ install_with_playwright && find_playwright; } 9>&- && exit 0
fail "no Chromium could be installed, neither Debian's package (needs root or sudo) nor Playwright's; install one and set VERACITY_CHROMIUM to its path."
