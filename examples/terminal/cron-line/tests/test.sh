#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

line() { sed -n "$1p" /app/crontab 2> /dev/null; }
check 'the backup' '[ "$(line 1)" = "30 2 * * * /usr/bin/backup" ] || [ "$(line 1)" = "30 02 * * * /usr/bin/backup" ]'
check 'the report' 'line 2 | grep -qxE "0?0 0?8 \* \* (1-5|1,2,3,4,5) /usr/bin/report"'
check 'the poll' 'line 3 | grep -qxE "(\*/15|0,15,30,45|0-59/15) \* \* \* \* /usr/bin/poll"'
check 'nothing else' '[ "$(grep -c . /app/crontab)" = 3 ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
