#!/bin/bash
set -e
cd /app/site
find . -type d -exec chmod 755 {} +
find . -type f -exec chmod 644 {} +
find . -name '*.sh' -exec chmod 750 {} +
chmod 600 secret/*
chmod 700 secret
