import { rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { clawloop, until } from './harness/clawloop.ts';
import { findWords } from './harness/find-words.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { annas, berts, planting, tokensOnlyIn } from './harness/plant-words.ts';

// Words of one person are planted through all services, erased, and searched in every byte of the data folder.

describe('a person is forgotten', () => {
  const on = loopOnFolder(['--collector-batch-size', '3']);
  const run = (...argv: readonly string[]) => clawloop([...argv, '--data-folder', on.folder]);
  let tokens: readonly string[] = [];

  const { chat, plantWords, plantOpen } = planting(() => on.loop.url);

  test('words pass through all services', async () => {
    await plantWords();
    await until('a version', async () => /^v1 .* head /m.test(await on.run('policy', 'list')), 300_000);
    await plantOpen();
  });

  test('what may still train is withdrawn first, and nothing is erased beside running services', async () => {
    const dry = await run('forget', 'anna', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/records interaction\.completed/) });
    const beside = await run('forget', 'anna', '--yes');
    expect(beside).toMatchObject({ code: 1, stdout: expect.stringContaining('is not erased yet') });
    await until(
      'nothing is open',
      async () => !(await run('forget', 'anna', '--dry-run')).stdout.includes('FIRST'),
    );
    const running = await run('forget', 'anna', '--yes');
    expect(running).toMatchObject({ code: 1, stdout: expect.stringContaining('the services are running') });
    expect(await on.loop.stop()).toBe(0);
    const found = await findWords(on.folder, [...annas, ...berts]);
    expect(new Set(found.map(({ word }) => word))).toEqual(new Set([...annas, ...berts]));
    expect(found.filter(({ place }) => place.startsWith('packed '))).not.toEqual([]);
    const recordsOf = (session: string) =>
      on.run('topics', 'tail', 'conversations', '--session', session, '--json');
    tokens = tokensOnlyIn(await recordsOf('anna'), await recordsOf('bert'));
    expect(tokens.length).toBeGreaterThan(0);
  });

  test('no byte of the data folder holds the words or their tokens, and others keep theirs', async () => {
    const heads = join(on.folder, '..', `${basename(on.folder)}-heads.json`);
    await writeFile(heads, await on.run('audit', '--json'));
    const erased = await run('forget', 'anna', '--yes', '--reason', 'asked by mail');
    expect(erased).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^erased: \d+ records[\s\S]*^LEARNED +default learned from the words in v1/m,
      ),
    });
    expect(await findWords(on.folder, [...annas, ...tokens])).toEqual([]);
    expect(await findWords(on.folder, berts)).not.toEqual([]);
    const again = await run('forget', 'anna', '--yes');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('no words left') });
    expect(await on.run('audit', '--heads', heads)).toContain('balances');
    await rm(heads);
  });

  test('the audit names the erasure and balances, and replay says why it cannot repeat a version', async () => {
    expect(await on.run('audit')).toMatch(
      /^erased on 2\S+ by .+: \d+ records and \d+ rows of session anna \(asked by mail\)$[\s\S]*^balances$/m,
    );
    const replay = await run('replay');
    expect(replay).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/v1 +not covered: The words of \S+ were erased at/),
    });
    const deep = await run('audit', '--deep');
    expect(deep).toMatchObject({ code: 2, stdout: expect.stringContaining('may come from the erasure of') });
  });

  test('the services go on, and commands read what is left', async () => {
    await on.start('--collector-batch-size', '3');
    await chat('anna', 'How do I pack for Rome again?', 'Perfect, thanks!');
    expect(await on.run('turns', 'list')).toContain('[words erased]');
    expect(await on.run('sessions', 'inspect', 'anna')).toContain('[words erased]');
    await run('forget', 'bert', '--yes'); // withdraws what is open
    await until('nothing of the other session is open', async () => {
      const { stdout } = await run('forget', 'bert', '--dry-run');
      return !stdout.includes('FIRST');
    });
    expect(await on.loop.stop()).toBe(0);
    expect(await on.run('audit')).toContain('balances');
  });

  test('a change by anybody else is still found', async () => {
    const db = new DatabaseSync(join(on.folder, 'log', 'log.sqlite'));
    db.exec(`UPDATE records SET body = replace(body, '[words erased]', '[words forged]') WHERE k =
      (SELECT min(k) FROM records WHERE typeof(body) = 'text' AND body LIKE '%[words erased]%')`);
    db.close();
    const audit = await run('audit');
    expect(audit).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^BROKEN +conversations\/\d+, offsets/m),
    });
    const refused = await run('forget', 'bert', '--yes');
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain('are not those that were appended');
  });
});
