#!/bin/bash
set -e
cd /app/photos
find . -type f -print0 | xargs -0 sha256sum | sed 's#  \./#  #' | LC_ALL=C sort -k2 \
  | awk '{ digest = $1; $0 = substr($0, 67); if (seen[digest]++) print }' | LC_ALL=C sort > /app/deleted.txt
while IFS= read -r path; do rm -- "$path"; done < /app/deleted.txt
