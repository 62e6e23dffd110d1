#!/bin/sh
# run.sh FOLDER RESULTS SECONDS: runs the tests of a package and writes a line for each outcome.
cd "$1" || exit 2
here=$(dirname "$(readlink -f "$0")")
export CLAWLOOP_RESULTS="$2" PYTHONPATH="$here:$1:$1/src" PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
exec timeout --kill-after=5 "$3" python3 -m pytest -q -p no:cacheprovider -p clawloop_report -o addopts= --rootdir "$1"
