import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Admin } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { describeWithKafka } from '../contract/kafka-node.ts';
import { askerOf } from './harness/asker.ts';
import { chatAndReact } from './harness/chat-and-react.ts';
import { startChatting } from './harness/chatting.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { runCommand } from './harness/run-command.ts';

describeWithKafka('a deployment on Kafka that is lost, and its backup', (kafka) => {
  let place: string;
  let backup: string;
  let first: ClawLoop;
  let second: ClawLoop | undefined;
  let key: string;
  let admin: Admin;
  const on = (name: string): readonly string[] => [
    '--data-folder',
    join(place, name),
    ...['--log', 'kafka', '--kafka-brokers', kafka().brokers.join(','), '--kafka-prefix', `${name}.`],
  ];
  const start = (name: string) => {
    const [, folder, ...flags] = on(name);
    return startClawLoop(folder!, [...flags, '--collector-batch-size', '4']);
  };
  /** Runs a command and kills it when the condition holds. */
  const killed = (argv: readonly string[], isDue: () => Promise<boolean>) =>
    clawloop(argv, {}, (signal) => void until('the kill is due', isDue).then(() => signal('SIGKILL')));
  const exists = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    );
  const headOf = async (name: string): Promise<number> =>
    Number(/^v(\d+) .* head /m.exec(await runCommand('policy', 'list', ...on(name)))?.[1]);
  const turnsOf = async (name: string): Promise<readonly string[]> =>
    (await runCommand('turns', 'list', '--json', '-n', '1000', ...on(name))).split('\n').filter(Boolean);

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'clawloop-backup-kafka-'));
    backup = join(place, 'backup');
    admin = connectTo({ brokers: kafka().brokers }).kafka.admin();
    await admin.connect();
    key = (await runCommand('keys', 'create', 'ann', '--data-folder', join(place, 'a'))).split('\n')[0]!;
    first = await start('a');
  });
  afterAll(async () => {
    await first?.stop();
    await second?.stop();
    await admin?.disconnect();
    await rm(place, { recursive: true, force: true });
  });

  test('backups are made while people chat, and one that is killed leaves the earlier point', async () => {
    const ask = askerOf(first.url, key);
    await chatAndReact(ask);
    await until('a version', async () => (await headOf('a')) === 1, 150_000);
    const people = await startChatting(ask);
    expect(await runCommand('backup', backup, ...on('a'))).toMatch(
      /^0001-\S+: \d+ records, 1 checkpoint; wrote/,
    );
    const log = join(backup, '.unfinished');
    await killed(['backup', backup, ...on('a')], () => exists(log));
    const before = people.answers();
    await until('people go on', () => people.answers() > before);
    expect(await runCommand('backup', backup, ...on('a'))).toMatch(
      /^0002-\S+: \d+ records, 1 checkpoint \(1 already there\)/,
    );
    await people.stop();
    expect(await runCommand('backup', 'verify', backup)).toMatch(/^0002-\S+: \d+ files, .* all as written/);
  });

  test('after a SIGKILL of everything, a killed restore is no log, and its repetition balances', async () => {
    const pids = [first.supervisor, ...Object.values(await first.pids())];
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    const isFilling = async () => (await admin.listTopics()).includes('b.training');
    expect((await killed(['restore', backup, ...on('b')], isFilling)).code).toBe(1);
    expect(await clawloop(['audit', ...on('b')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has not finished'),
    });
    const restored = await runCommand('restore', backup, ...on('b'));
    expect(restored).toMatch(/^restored 0002-[\s\S]*^balances$/m);
    expect(await headOf('b')).toBe(1);
    expect(await runCommand('audit', '--deep', ...on('b'))).toContain('differences: 0');
    const again = await clawloop(['restore', backup, ...on('b')]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('hold a log already') });
  });

  test('chat goes on there with the same access key and version, and the folds go on', async () => {
    second = await start('b');
    const models = await fetch(`${second.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(await models.text()).toContain('clawloop@v1');
    const before = (await turnsOf('b')).length;
    const ask = askerOf(second.url, key);
    const question = { role: 'user', content: 'What is a good supper?' } as const;
    const answer = { role: 'assistant', content: await ask([question]) } as const;
    await ask([question, answer, { role: 'user', content: 'Perfect, thanks!' }]);
    await until('the folds go on', async () => (await turnsOf('b')).length > before);
    expect(await runCommand('audit', ...on('b'))).toContain('balances');
  });
});
