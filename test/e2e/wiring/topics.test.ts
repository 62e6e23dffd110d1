import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { groups } from '../../../services/cli/create-topics.ts';
import { assemble } from '../../../services/collector/assemble.ts';
import { attribute } from '../../../services/collector/attribute.ts';
import { submit } from '../../../services/collector/submit.ts';
import { judgeFold } from '../../../services/judge/judge-fold.ts';

test('every group of the services gets a topic for its rows', async () => {
  const main = (service: string) =>
    readFile(new URL(`../../../services/${service}/main.ts`, import.meta.url), 'utf8');
  const named = await Promise.all(
    ['judge', 'trainer'].map(async (service) => /const GROUP = '(\w+)'/.exec(await main(service))?.[1]),
  );
  expect(named).toEqual([judgeFold.name, 'trainer']);
  expect(groups.map(({ group }) => group).sort()).toEqual(
    [attribute.name, assemble.name, submit.name, ...named].sort(),
  );
});
