#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

section() { awk -v name="[$1]" '/^\[/ { on = $0 == name } on' /app/server.conf; }
check 'the port of http' 'section http | grep -qx "port = 8443"'
check 'the cache is on' 'section cache | grep -qx "enabled = yes"'
check 'debug is gone' '[ -s /app/server.conf ] && ! grep -q "^\[debug\]" /app/server.conf && ! grep -q "^level" /app/server.conf'
# what must not change counts only if something changed
changed=$(diff /tests/server.conf /app/server.conf | grep -c '^[<>]')
others() { awk '/^\[/ { on = $0 == "[metrics]" || $0 == "[tls]" } on || /^#/' "$1" | grep .; }
check 'nothing else changed' '[ "$changed" -gt 0 ] && [ "$(others /tests/server.conf)" = "$(others /app/server.conf)" ] && grep -qx "size = 64" /app/server.conf'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
