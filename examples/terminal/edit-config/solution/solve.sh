#!/bin/bash
set -e
cd /app
sed -i '/^\[http\]/,/^\[/ s/^port = .*/port = 8443/' server.conf
sed -i '/^\[cache\]/,/^\[/ s/^enabled = .*/enabled = yes/' server.conf
awk '/^\[/ { on = $0 != "[debug]" } NR == 1 || on' server.conf > new && cat new > server.conf && rm new
