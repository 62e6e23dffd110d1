import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { topicOf } from '../../shared/events/parse-event.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { countingReads } from '../../shared/log/testing/counting-reads.ts';
import { randomEvents } from '../../shared/log/testing/random-events.ts';
import { readPolicies } from './policies.ts';

test.each([1, 2, 3, 4])(
  'a command that goes on from the state of an earlier one shows the same versions, seed %i',
  async (seed) => {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-policies-'));
    const log = await openSqliteLog({ folder: join(folder, 'log') });
    onTestFinished(async () => {
      await log.close();
      await rm(folder, { recursive: true });
    });
    const policiesIn = async (kept: string) => {
      const counting = countingReads(log);
      await mkdir(join(folder, kept), { recursive: true });
      const policies = await readPolicies(counting.log, { dataFolder: join(folder, kept) }, 1);
      return {
        read: counting.count(),
        states: [...policies].map(([name, policy]) => [name, policy.state()]).sort(),
      };
    };
    const events = randomEvents(seed, 300).filter((event) => topicOf(event) === 'training');
    const cuts = [0, 30 + seed, 31 + seed, events.length];
    for (const [index, cut] of cuts.entries()) {
      await log.append(events.slice(index === 0 ? 0 : cuts[index - 1]!, cut));
      expect((await policiesIn('kept')).states).toEqual((await policiesIn(`new-${cut}`)).states);
    }
    expect((await policiesIn('kept')).read).toBe(0);
    expect((await policiesIn('another')).read).toBeGreaterThan(10);
    await readPolicies(log, { dataFolder: join(folder, 'nowhere') }, 1);
    expect(await readdir(folder)).not.toContain('nowhere');
  },
);
