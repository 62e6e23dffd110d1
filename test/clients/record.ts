// npm run record:clients: records the requests of every program in a folder that git ignores.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Client } from './client.ts';
import { clientsNamed } from './drivers/all.ts';
import { installClient } from './install.ts';
import { emptyPlace } from './place.ts';
import { play } from './play.ts';
import { recordingsFolder } from './recorded-requests.ts';
import { scriptedUpstream } from './upstream/scripted-upstream.ts';

/** @returns the number of its requests @throws if it cannot be installed, or shows an error */
async function record(client: Client): Promise<number> {
  const launcher = await installClient(client.package, console.log);
  const upstream = await scriptedUpstream();
  const place = await emptyPlace(launcher, upstream.url);
  try {
    const { failure } = await play(client, place, upstream);
    const requests = upstream.served.map(({ words, isAborted, ...one }) => ({
      ...one,
      aborted: isAborted(),
    }));
    const { name, version } = client.package;
    const recorded = { program: name, version, probes: upstream.probes, requests };
    mkdirSync(recordingsFolder, { recursive: true });
    const file = join(recordingsFolder, `${client.name}.json`);
    writeFileSync(`${file}.part`, JSON.stringify(recorded, null, 1));
    renameSync(`${file}.part`, file);
    if (failure !== undefined) throw new Error(failure);
    return requests.length;
  } finally {
    await place.dispose();
    await upstream.close();
  }
}

const { values } = parseArgs({ options: { clients: { type: 'string' } } });
for (const client of clientsNamed(values.clients))
  await record(client).then(
    (count) => console.log(`${client.name}: ${count} requests`),
    (error: Error) => {
      console.error(`${client.name}: ${error.message}`);
      process.exitCode = 1;
    },
  );
