// npm run test:clients -- --clients codex,aider --write-docs
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { checkNames, checks } from './checks.ts';
import { clientsBlocks, type Row, withBlocks } from './clients-page.ts';
import { clientsNamed } from './drivers/all.ts';
import { installClient } from './install.ts';
import { observe } from './observe.ts';

const page = new URL('../../docs/start/clients.md', import.meta.url);
const { values } = parseArgs({
  options: { clients: { type: 'string' }, 'write-docs': { type: 'boolean' } },
});

const rows: Row[] = [];
for (const client of clientsNamed(values.clients)) {
  const launcher = await installClient(client.package, console.log).catch((error: Error) => {
    console.log(`${client.title}: skipped: ${error.message}`);
  });
  if (launcher === undefined) continue;
  const seen = await observe(client, launcher);
  const problems = checkNames.flatMap((name) => checks[name](seen).map((problem) => ({ name, problem })));
  const failed = new Set(problems.map(({ name }) => name));
  console.log(
    `${client.title} ${client.package.version}: ${checkNames.length - failed.size} of ${checkNames.length} hold`,
  );
  for (const name of failed) {
    console.log(`  not so: ${name}`);
    for (const one of problems) if (one.name === name) console.log(`    ${one.problem}`);
  }
  if (failed.size > 0) process.exitCode = 1;
  rows.push({ client, seen, failed: [...failed] });
}
if (values['write-docs'])
  await writeFile(page, withBlocks(await readFile(page, 'utf8'), clientsBlocks(rows)));
