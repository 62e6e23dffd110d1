import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { logOf } from '../../../shared/views/testing/log-of.ts';
import { randomChains } from '../../../shared/views/testing/random-chains.ts';
import { inspectSession } from './inspection.ts';
import { readInspection } from './read-inspection.ts';

/** Nothing can be stored below a file. */
const nowhere = fileURLToPath(import.meta.url);

test.each([1, 2, 3])(
  'the records that the index names are all that a session needs, seed %i',
  async (seed) => {
    const records = randomChains(seed);
    for (const session of ['s-0', 's-1', 's-2', 'none']) {
      const all = inspectSession(session);
      for (const topic of ['conversations', 'turns', 'training'] as const)
        for (const one of records) if (one.topic === topic) all.on(one.record, topic);
      const inspection = await readInspection({ log: logOf(records), folder: nowhere }, session);
      expect(inspection).toEqual(all.result());
      expect(inspection.turns.length > 0).toBe(session !== 'none');
    }
  },
);
