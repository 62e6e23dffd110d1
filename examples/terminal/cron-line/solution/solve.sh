#!/bin/bash
set -e
echo '30 2 * * * /usr/bin/backup' > /app/crontab
echo '0 8 * * 1-5 /usr/bin/report' >> /app/crontab
echo '*/15 * * * * /usr/bin/poll' >> /app/crontab
