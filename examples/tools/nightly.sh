#!/bin/sh
# Publish the pages of one day, from cron: nightly.sh [DAY], yesterday by default.
#
# The name of the run is the day, so a day is paid once, however often this is repeated: a run that failed after
# its noise was drawn gets the stored answer, and a relation gets no row twice. What failed for now (a server out
# of reach, a lost connection, a locked file) is tried again. A refusal is not: the budget is used up, or the
# command is wrong, and another try would end the same way.
set -u
day=${1:-$(date -d yesterday +%F)}
tries=${TRIES:-5} pause=${PAUSE:-60}
said=$(mktemp) && trap 'rm -f "$said"' EXIT

while :; do
    hushcount top ${SOURCE:---database postgresql:///shop --relation visits} --column page \
        --window "$day" --time at --epsilon 0.1 --delta 1e-9 \
        --ledger "${LEDGER:-spent.db}" --dataset visits --run-id "pages-$day" \
        --output "${OUTPUT:-postgresql:///shop#top_pages}" --if-exists append --json >/dev/null 2>"$said"
    code=$?
    [ $code -eq 0 ] && exit 0
    cat "$said" >&2
    # Wrong usage is 2, Ctrl-C is 130. Of the failures with 1 a refusal is told by its kind.
    [ $code -eq 1 ] || exit $code
    grep -q '"kind": "BudgetExceeded"' "$said" && exit $code
    tries=$((tries - 1))
    [ $tries -gt 0 ] || exit $code
    sleep "$pause"
    pause=$((2 * pause))
done
