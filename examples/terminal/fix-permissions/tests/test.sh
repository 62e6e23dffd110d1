#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

modes() { stat -c %a "$@" | sort -u | tr '\n' ' '; }
cd /app/site
check 'folders' '[ "$(modes . css bin)" = "755 " ]'
check 'scripts' '[ "$(modes bin/*.sh)" = "750 " ]'
check 'secrets' '[ "$(modes secret)$(modes secret/*)" = "700 600 " ]'
check 'other files' '[ "$(modes index.html css/*)" = "644 " ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
