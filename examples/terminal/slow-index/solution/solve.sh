#!/bin/bash
set -e
cd /app
LC_ALL=C sort -k2,2nr -k1,1 index.txt | head -10 | cut -d' ' -f1 > top.txt
grep -c ' 1$' index.txt > rare.txt
