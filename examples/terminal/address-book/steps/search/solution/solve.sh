#!/bin/bash
set -e
cd /app
while read -r city; do echo "$city $(grep -c ";$city\$" clean.csv)"; done < cities.txt > counts.txt
