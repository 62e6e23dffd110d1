#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

# This container has the log of its own image, and of the agent's only /app/report.
cd /app/report 2> /dev/null || mkdir -p /app/report
top() { cut -d' ' -f1 /app/access.log | sort | uniq -c | sort -rn | awk '{ print $1 }' | head -5; }
counts() { while read -r address; do grep -c "^$address " /app/access.log; done < /app/report/top.txt; }
check 'the top addresses' '[ "$(counts)" = "$(top)" ] && [ "$(sort -u /app/report/top.txt | wc -l)" = 5 ]'
check 'the errors' '[ "$(tr -d "[:space:]" < /app/report/errors.txt)" = "$(awk "\$3 >= 500" /app/access.log | wc -l)" ]'
check 'the missing pages' '[ -f /app/report/missing.txt ] && [ "$(cat /app/report/missing.txt)" = "$(awk "\$3 == 404 { print \$2 }" /app/access.log | LC_ALL=C sort -u)" ]'
check 'the listing that was collected' 'grep -qx top.txt /logs/artifacts/listing.txt'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
