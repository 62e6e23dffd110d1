import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { leftoversIn } from '../../../shared/lang/leftover-files.ts';
import type { Leftover } from '../../../shared/lang/leftovers.ts';
import { sum } from '../../../shared/lang/numbers.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import type { Finding } from './checks.ts';

/** What was set aside in the data folder, and the copies of adapters; none: nothing to say. */
export async function leftovers(path: string): Promise<readonly Finding[]> {
  const data = dataFolder(path);
  const within = async (folder: string, fits: (name: string) => boolean): Promise<readonly Leftover[]> => {
    const inner = await readdir(folder).catch(() => []);
    return (await Promise.all(inner.map((name) => leftoversIn(join(folder, name), fits)))).flat();
  };
  const kinds = [
    [
      'checkpoints that were set aside',
      await within(data.checkpointsOfAll, (name) => name.startsWith('.aside-')),
    ],
    ['events that were set aside', await leftoversIn(data.outbox, (name) => name.endsWith('.broken'))],
    ['copies of adapters', await within(data.adaptersOfAll, () => true)],
  ] as const;
  const parts = kinds.flatMap(([what, found]) =>
    found.length === 0
      ? []
      : [`${what}: ${found.length} (${megabytes(sum(found.map(({ bytes }) => bytes)))})`],
  );
  if (parts.length === 0) return [];
  const isAside = kinds.slice(0, 2).some(([, found]) => found.length > 0);
  return [
    {
      state: isAside ? 'note' : 'ok',
      what: `in the data folder, ${parts.join(', ')}`,
      ...(isAside
        ? { advice: 'look at what was set aside; it is removed after --aside-days, or above --aside-mib' }
        : {}),
    },
  ];
}
