#!/bin/bash
set -e
cd /app
awk -F, 'NR > 1 { sum[$2] += $4 * $5 } END { for (r in sum) printf "%s,%.2f\n", r, sum[r] }' sales.csv | sort -t, -k2,2nr > regions.csv
awk -F, 'NR > 1 && $4 > 0 { sum[$3] += $4 } END { for (p in sum) print sum[p], p }' sales.csv | sort -rn | head -1 | cut -d' ' -f2 > product.txt
