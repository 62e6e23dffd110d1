#!/bin/bash
set -e
cd /app/src
find . -name '*.c' -exec cat {} + | grep -c '[^[:space:]]' > /app/total.txt
for f in $(find . -name '*.c' | cut -c3-); do
  echo "$(grep -c '[^[:space:]]' "$f") $f"
done | sort -rn | head -1 | cut -d' ' -f2 > /app/longest.txt
