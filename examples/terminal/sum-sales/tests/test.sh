#!/bin/bash
# Each check counts the same. The reward is the share that passed.
passed=0
total=0
check() {
  total=$((total + 1))
  if eval "$2"; then passed=$((passed + 1)) && echo "ok: $1"; else echo "failed: $1"; fi
}

regions=$(awk -F, 'NR > 1 { sum[$2] += $4 * $5 } END { for (r in sum) printf "%s,%.2f\n", r, sum[r] }' /app/sales.csv | sort -t, -k2,2nr)
product=$(awk -F, 'NR > 1 && $4 > 0 { sum[$3] += $4 } END { for (p in sum) print sum[p], p }' /app/sales.csv | sort -rn | head -1 | cut -d' ' -f2)
check 'the regions' '[ "$(cut -d, -f1 /app/regions.csv | sort | tr "\n" " ")" = "east north south west " ]'
check 'their revenues' '[ "$(sort /app/regions.csv)" = "$(echo "$regions" | sort)" ]'
check 'their order' '[ "$(cat /app/regions.csv)" = "$regions" ]'
check 'the product' '[ "$(tr -d "[:space:]" < /app/product.txt)" = "$product" ]'

awk -v passed=$passed -v total=$total 'BEGIN { printf "%.4f\n", passed / total }' > /logs/verifier/reward.txt
