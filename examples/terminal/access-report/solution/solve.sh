#!/bin/bash
set -e
mkdir -p /app/report
cd /app/report
cut -d' ' -f1 ../access.log | sort | uniq -c | sort -rn | head -5 | awk '{ print $2 }' > top.txt
awk '$3 >= 500' ../access.log | wc -l > errors.txt
awk '$3 == 404 { print $2 }' ../access.log | LC_ALL=C sort -u > missing.txt
