// npm run bench [-- log queue load loop backlog backup durability recovery policy prompts start]: tables of figures, each with a peer
// measured in the same run.
import { benchBacklog } from './backlog.ts';
import { benchBackup } from './backup.ts';
import { benchDurability } from './durability.ts';
import { benchKafkaLog } from './kafka-log.ts';
import { benchLoad } from './load/load.ts';
import { benchLoop } from './load/loop.ts';
import { benchLog } from './log.ts';
import { benchPolicy } from './policy.ts';
import { benchPrompts } from './prompts/prompts.ts';
import { benchQueue } from './queue.ts';
import { benchRecovery } from './recovery.ts';
import { benchStart } from './start/start.ts';

const benches: Readonly<Record<string, () => Promise<unknown>>> = {
  log: async () => [...(await benchLog()), ...(await benchKafkaLog())],
  queue: benchQueue,
  load: benchLoad,
  loop: benchLoop,
  backlog: benchBacklog,
  backup: benchBackup,
  durability: benchDurability,
  recovery: benchRecovery,
  policy: benchPolicy,
  prompts: () => benchPrompts(),
  start: benchStart,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => benches[name] === undefined);
if (unknown.length > 0) {
  console.error(`no bench '${unknown[0]}'; one of: ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : Object.keys(benches)) {
  console.log(`\n== ${name}\n`);
  await benches[name]!();
}
