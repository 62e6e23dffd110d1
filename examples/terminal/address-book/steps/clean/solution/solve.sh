#!/bin/bash
set -e
awk -F';' '{ for (i = 1; i <= 3; i++) gsub(/^ +| +$/, "", $i); print $1 ";" tolower($2) ";" $3 }' /app/people.txt | LC_ALL=C sort -u > /app/clean.csv
