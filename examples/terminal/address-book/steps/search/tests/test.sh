#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

check 'the cities in order' '[ "$(cut -d" " -f1 /app/counts.txt)" = "$(cat /app/cities.txt)" ]'
check 'the numbers' '[ "$(cat /app/counts.txt)" = "$(printf "Tromso 1\nBergen 2\nOslo 2")" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
