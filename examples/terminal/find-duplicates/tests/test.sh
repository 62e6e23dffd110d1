#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

cd /tests
check 'the list of deleted files' '[ "$(cat /app/deleted.txt)" = "$(cat deleted.txt)" ]'
check 'equal files are gone' '[ "$(cd /app/photos && find . -type f -exec sha256sum {} + | cut -c1-64 | sort | uniq -d | wc -l)" = 0 ]'
kept=$(cd /app/photos && find . -type f | cut -c3- | LC_ALL=C sort)
check 'the right files stay' '[ "$kept" = "$(cat kept.txt)" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
