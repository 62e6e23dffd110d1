#!/bin/bash
set -e
cd /app
tar -czf project.tar.gz --exclude=cache --exclude='*.tmp' project
sha256sum project.tar.gz | cut -c1-64 > project.sha256
