#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

check 'no space around fields, lower case' '[ -s /app/clean.csv ] && ! grep -qE "^ | ;|; | \$|;[^;]*[A-Z][^;]*;" /app/clean.csv'
check 'each person once, sorted' 'cmp -s /app/clean.csv /tests/clean.csv'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
