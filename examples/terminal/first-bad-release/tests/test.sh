#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

slug=/app/releases/r40/slug
check 'the first bad release' '[ "$(tr -d "[:space:]" < /app/first-bad.txt)" = r27 ]'
check 'spaces and signs in a row' '[ "$($slug "A  B, and C")" = a-b-and-c ]'
check 'signs at the ends' '[ "$($slug "  Hello, World!  ")" = hello-world ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
