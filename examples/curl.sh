#!/bin/sh
# Use Veracity with curl (7.82 or newer).
#
#   export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
#   sh curl.sh ask "How many days of annual leave do staff have?"      the answer, as JSON
#   sh curl.sh watch "How many days of annual leave do staff have?"    all events of the run, as they happen
#   sh curl.sh events RUN [LAST-EVENT-ID]                              events of an existing run, after that event
#   sh curl.sh upload FILE…                                            upload documents (admin)
#   sh curl.sh inbox                                                   pending drafts
#   sh curl.sh approve APPROVAL                                        (approver or admin)
#   sh curl.sh reject APPROVAL "The figure is last year's."
set -eu
url=${VERACITY_URL:-http://127.0.0.1:8347}

# Pass the token through a pipe, because command lines are visible to all users of this machine.
call() {
    printf 'header = "Authorization: Bearer %s"\n' "$VERACITY_TOKEN" | curl --config - --silent --show-error --fail-with-body "$@"
}

# Quote text as a JSON string: escape backslashes and quotes, replace line breaks by spaces.
quoted() {
    printf '"%s"' "$(printf %s "$1" | tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

decide() {
    call --json "{\"verdict\": \"$2\", \"reason\": $(quoted "${3:-}")}" \
        --header "Idempotency-Key: $1-$2" "$url/api/approvals/$1/decision"
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
    ask) call --json "{\"question\": $(quoted "$1")}" "$url/api/ask" ;;
    watch) call --no-buffer --json "{\"question\": $(quoted "$1")}" --header "Accept: text/event-stream" "$url/api/ask" ;;
    events) call --no-buffer --header "Last-Event-ID: ${2:-}" "$url/api/runs/$1/events" ;;
    upload)
        count=$#
        while [ "$count" -gt 0 ]; do # each argument becomes: --form files=@"…"
            name=$(printf %s "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')
            shift
            set -- "$@" --form "files=@\"$name\""
            count=$((count - 1))
        done
        call "$@" "$url/api/documents"
        ;;
    inbox) call "$url/api/approvals" ;;
    approve) decide "$1" approve ;;
    reject) decide "$1" reject "${2:-}" ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "$0" ;;
esac
echo
