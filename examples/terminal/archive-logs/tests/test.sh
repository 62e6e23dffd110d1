#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

mkdir -p /tmp/out && tar -xzf /app/project.tar.gz -C /tmp/out
listed=$(cd /tmp/out && find . -type f 2> /dev/null | sort)
wanted=$(cd /app && find ./project -type d -name cache -prune -o -type f ! -name '*.tmp' -print | sort)
check 'the archive opens and has a folder project' '[ -d /tmp/out/project ]'
check 'the right files are in it' '[ -n "$listed" ] && [ "$listed" = "$wanted" ]'
check 'the digest' '[ -s /app/project.tar.gz ] && [ "$(cat /app/project.sha256)" = "$(sha256sum < /app/project.tar.gz | cut -c1-64)" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
