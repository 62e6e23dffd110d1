#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

total_lines=$(find /app/src -name '*.c' -exec cat {} + | grep -c '[^[:space:]]')
longest=$(cd /app/src && for f in $(find . -name '*.c' | cut -c3-); do echo "$(grep -c '[^[:space:]]' "$f") $f"; done | sort -rn | head -1 | cut -d' ' -f2)
check 'the number of lines' '[ "$(tr -d "[:space:]" < /app/total.txt)" = "$total_lines" ]'
check 'the longest file' '[ "$(tr -d "[:space:]" < /app/longest.txt)" = "$longest" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
