#!/bin/bash
# Grades a package that an agent worked on: 1 if every listed test passes, otherwise 0. It runs in a container that the
# agent never touched. The package there is as it was given to the agent; the agent's own is an artifact.
set -u
here=$(dirname "$(readlink -f "$0")")
given=/logs/artifacts/app
chmod 700 /logs/verifier
[ -d "$given" ] || { echo 'the package of the agent is not there'; exit 1; }

# Of the agent's files, those of the program count.
while IFS= read -r root; do
  rm -rf "/app/$root"
  [ -e "$given/$root" ] || continue
  mkdir -p "$(dirname "/app/$root")"
  cp -a "$given/$root" "/app/$root"
done < "$here/roots.txt"

# No test of the agent's own counts, and no file that changes how tests run.
find /app -mindepth 1 \( @TEST_FILES@ \) -prune -exec rm -rf {} +
cp -a "$here/originals/." /app/

sh "$here/run-apart.sh" /app @SECONDS@ /logs/verifier/outcomes.txt
grep '^PASS ' /logs/verifier/outcomes.txt | cut -c 6- > /logs/verifier/passed.txt

# share LIST: how many of these tests passed, from 0 to 1
share() {
  awk 'NR == FNR { passed[$0]; next } $0 in passed { count++ } END { print count / FNR }' /logs/verifier/passed.txt "$1"
}
lists=("$here/fail-to-pass.txt" "$here/pass-to-pass.txt")
missing=$(cat "${lists[@]}" | grep -Fxvc -f /logs/verifier/passed.txt)
reward=0
[ "$missing" = 0 ] && reward=1
rm -f /logs/verifier/reward.txt
echo "{\"reward\": $reward, \"fail_to_pass\": $(share "${lists[0]}"), \"pass_to_pass\": $(share "${lists[1]}")}" \
  > /logs/verifier/reward.json
