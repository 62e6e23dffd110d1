import { describe, expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { clawloop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { planting } from './harness/plant-words.ts';

type Of<Type extends ClawLoopEvent['type']> = Extract<ClawLoopEvent, { type: Type }>['data'];

// Two people teach three versions. These train again: first all samples, then without those of one person.
describe('versions are trained again', () => {
  const on = loopOnFolder(['--collector-batch-size', '2']);
  const run = (...argv: readonly string[]) => clawloop([...argv, '--data-folder', on.folder]);
  const { chat } = planting(() => on.loop.url);

  const events = async <Type extends ClawLoopEvent['type']>(type: Type): Promise<readonly Of<Type>[]> =>
    (await on.run('topics', 'tail', 'training', '--type', type, '--json'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { event: { data: Of<Type> } }).event.data);
  const digests = async () =>
    new Map((await events('policy.trained')).map(({ version, digest }) => [version, digest]));
  const headIs = (version: number) =>
    until(
      `v${version} is the head`,
      async () => new RegExp(`^v${version} .* head `, 'm').test(await on.run('policy', 'list')),
      300_000,
    );

  test('two people teach three versions', async () => {
    for (const [index, place] of ['Rome', 'Oslo', 'Bern'].entries()) {
      await chat(index < 2 ? 'anna' : 'bert', `How do I pack for ${place}?`, 'Perfect, thanks!');
      await chat('bert', `How do I get to ${place}?`, 'Perfect, thanks!');
      await headIs(index + 1);
    }
  });

  test('from the base, the same batches make the same versions, bit for bit, through kills', async () => {
    const plan = await run('policy', 'retrain', '0', '--dry-run');
    expect(plan).toMatchObject({
      code: 0,
      stdout: 'the head goes back from v3 to v0\n' + '3 batches with 6 samples train again, in their order\n',
    });
    const unsure = await run('policy', 'retrain', '0');
    expect(unsure).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing is changed') });
    const again = await run('policy', 'retrain', '0', '--yes', '--reason', 'a trial');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('the head is v') });
    for (const service of ['trainer', 'collector']) {
      await until(
        'a new version is trained',
        async () => (await digests()).size > (service === 'trainer' ? 3 : 4),
      );
      process.kill((await on.loop.pids())[service]!, 'SIGKILL');
    }
    await headIs(6);
    const made = await digests();
    expect([4, 5, 6].map((version) => made.get(version))).toEqual([1, 2, 3].map((n) => made.get(n)));
    expect(await on.run('policy', 'list')).toMatch(/^v4 +v0 +2 of v1 .*promoted/m);
    expect(await on.run('audit')).toContain('balances');
  });

  test('what was erased is left out, and nothing on the new line learned from it', async () => {
    await run('forget', 'anna', '--yes'); // withdraws what is open
    await until('nothing is open', async () => {
      const { stdout } = await run('forget', 'anna', '--dry-run');
      return !stdout.includes('FIRST');
    });
    expect(await on.loop.stop()).toBe(0);
    expect(await run('forget', 'anna', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^LEARNED +default learned from the words in v4, v5;.*clawloop policy retrain --adapters default$/m,
      ),
    });
    await on.start('--collector-batch-size', '2');
    const again = await run('policy', 'retrain', '--yes');
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^the head goes back from v6 to v0\n3 batches with 4 samples train again, in their order; left out: 2, which are erased/,
      ),
    });
    await headIs(9);
    const [seventh, eighth, ninth] = (await events('batch.submitted')).slice(-3);
    expect(seventh).toMatchObject({ n: 7, parent: 0, again: 'default/batch/1', samples: [{}] });
    expect(eighth).toMatchObject({ n: 8, parent: 7, again: 'default/batch/2', samples: [{}] });
    expect(ninth).toMatchObject({ n: 9, parent: 8, again: 'default/batch/3', samples: [{}, {}] });
    const made = await digests();
    expect([7, 8, 9].map((version) => made.get(version))).not.toEqual([4, 5, 6].map((n) => made.get(n)));
    expect(await run('policy', 'retrain')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('v9 of default learned from no answer that was erased'),
    });
  });

  test('the log balances, and each new version replays to its digest', async () => {
    expect(await on.run('turns', 'list')).toMatch(/trained in v7/);
    expect(await on.loop.stop()).toBe(0);
    expect(await on.run('audit')).toContain('balances');
    const replay = await run('replay');
    expect(replay).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ 5 same, 0 different, 4 not covered/),
    });
  });

  test('a line that was rolled back earlier trains again on what is served', async () => {
    await on.start('--collector-batch-size', '2');
    expect(await run('policy', 'rollback', '7')).toMatchObject({ code: 0 });
    expect(await run('policy', 'retrain', '--from', '9', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^the head stays v7\n2 batches with 3 samples/),
    });
    await headIs(11);
    const made = await digests();
    expect([10, 11].map((version) => made.get(version))).toEqual([8, 9].map((n) => made.get(n)));
    expect(await run('policy', 'retrain', '9', '--from', '7')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no version after v9 leads to v7'),
    });
  });

  test('batches that wait keep their turns from being forgotten, and a later command has its own order', async () => {
    await on.run('learning', 'pause');
    expect(await run('policy', 'retrain', '0', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('the batches train once learning is resumed'),
    });
    expect(await run('policy', 'retrain', '--from', '11', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^the head stays v0\n3 batches with 4 samples/),
    });
    await until('the drops of the first return are read', async () =>
      (await events('sample.dropped')).some(({ reason }) => reason === 'already-trained'),
    );
    expect(await on.run('turns', 'list')).toMatch(/bert .* waiting for batch/);
    expect((await run('forget', 'bert', '--dry-run')).stdout).toContain('FIRST');
    await on.run('learning', 'resume');
    await headIs(14);
    const made = await digests();
    expect([12, 13, 14].map((version) => made.get(version))).toEqual([7, 8, 9].map((n) => made.get(n)));
    expect(await run('policy', 'retrain', '9', '--from', '14', '--dry-run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('v9 learned already from all batches that led to v14'),
    });
    expect(await on.loop.stop()).toBe(0);
    expect(await on.run('audit')).toContain('balances');
    expect(await run('audit', '--deep')).toMatchObject({ code: 2 });
  });
});
