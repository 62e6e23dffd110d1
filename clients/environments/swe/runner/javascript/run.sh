#!/bin/sh
# run.sh FOLDER RESULTS SECONDS: runs the tests of a package and writes a line for each outcome.
cd "$1" || exit 2
here=$(dirname "$(readlink -f "$0")")
exec timeout --kill-after=5 "$3" node --test --test-concurrency=1 \
  --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter="$here/clawloop-report.mjs" --test-reporter-destination="$2"
