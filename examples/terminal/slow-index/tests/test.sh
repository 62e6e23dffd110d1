#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

top=$(LC_ALL=C sort -k2,2nr -k1,1 /app/index.txt | head -10 | cut -d' ' -f1)
check 'the ten words' '[ "$(sort /app/top.txt)" = "$(echo "$top" | sort)" ]'
check 'their order' '[ "$(cat /app/top.txt)" = "$top" ]'
check 'the rare words' '[ "$(tr -d "[:space:]" < /app/rare.txt)" = "$(grep -c " 1\$" /app/index.txt)" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
