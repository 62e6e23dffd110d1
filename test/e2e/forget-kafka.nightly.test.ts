import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type KafkaNode, startKafka } from '../../infra/kafka/start-kafka.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { withRedis } from '../contract/bullmq-redis.ts';
import { describeWithKafka } from '../contract/kafka-node.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { findWordsInFiles } from './harness/find-words.ts';
import { findWordsInSegments, readEveryRecord } from './harness/find-words-in-kafka.ts';
import { annas, berts, planting, tokensOnlyIn } from './harness/plant-words.ts';
import { runCommand } from './harness/run-command.ts';

// Words of one person are planted through all services, erased, and searched in every record of Kafka, in every byte of
// the broker's and the services' folders, and on Redis.

/** ms until a broker removes the files of a deleted topic */
const DELETE_DELAY = '200';
let broker = '';
const start = (folder: string): Promise<KafkaNode> => {
  broker = join(folder, 'data');
  return startKafka({ folder, settings: { 'log.segment.delete.delay.ms': DELETE_DELAY } });
};

describeWithKafka(
  'a person is forgotten on Kafka',
  (kafka) => {
    withRedis('with Redis', (redis) => {
      let place: string;
      let folder: string;
      let loop: ClawLoop | undefined;
      let key: string;
      let admin: Admin;
      let answers: Redis;
      let tokens: readonly string[] = [];

      const on = (prefix: string): readonly string[] => [
        ...['--data-folder', folder, '--log', 'kafka', '--kafka-brokers', kafka().brokers.join(',')],
        ...['--kafka-prefix', prefix],
      ];
      const queue = () => ['--queue', 'redis', '--redis-url', redis().url];
      const startOn = async (prefix: string) => {
        loop = await startClawLoop(folder, [
          ...on(prefix).slice(2),
          ...queue(),
          '--collector-batch-size',
          '3',
        ]);
      };
      const forget = (...argv: readonly string[]) =>
        clawloop(['forget', ...argv, '--yes', ...on('a.'), ...queue()]);
      const killed = (argv: readonly string[], isDue: () => Promise<boolean>) =>
        clawloop(argv, {}, (signal) => void until('the kill is due', isDue).then(() => signal('SIGKILL')));
      const ofPrefix = (prefix: string) =>
        readEveryRecord(kafka().brokers, (name) => name.startsWith(prefix));
      const wordsOf = async (prefix: string, words: readonly string[]) => {
        const records = await ofPrefix(prefix);
        return words.filter((word) => records.some((record) => record.includes(word)));
      };
      const storedAnswers = async () => (await answers.keys('clawloop:answers:*')).length;
      const { chat, plantWords, plantOpen } = planting(
        () => loop!.url,
        () => key,
      );

      beforeAll(async () => {
        place = await mkdtemp(join(tmpdir(), 'clawloop-forget-kafka-'));
        folder = join(place, 'data');
        admin = connectTo({ brokers: kafka().brokers }).kafka.admin();
        await admin.connect();
        answers = new Redis(redis().url);
        key = (await runCommand('keys', 'create', 'ann', ...on('a.'))).split('\n')[0]!;
        await startOn('a.');
      });
      afterAll(async () => {
        await loop?.stop();
        await admin?.disconnect();
        answers?.disconnect();
        await rm(place, { recursive: true, force: true });
      });

      test('words pass through all services', async () => {
        await plantWords();
        const hasVersion = async () => /^v1 .* head /m.test(await runCommand('policy', 'list', ...on('a.')));
        await until('a version', hasVersion, 300_000);
        await plantOpen();
        expect(await storedAnswers()).toBeGreaterThan(0);
      });

      test('what may still train is withdrawn, and running services are noticed', async () => {
        const beside = await forget('anna', '--into-prefix', 'b.');
        expect(beside).toMatchObject({ code: 1, stdout: expect.stringContaining('is not erased yet') });
        const dry = () => runCommand('forget', 'anna', '--dry-run', ...on('a.'), ...queue());
        await until('nothing is open', async () => !(await dry()).includes('FIRST'));
        expect(await dry()).toMatch(
          /records interaction\.completed[\s\S]*entries of stored answers on Redis/,
        );
        const running = await forget('anna', '--into-prefix', 'b.');
        expect(running).toMatchObject({ code: 1, stdout: expect.stringContaining('services are running') });
        expect(running.stdout).toMatch(/^a\.attribute: a\.\d+ at 127\.0\.0\.1$/m);
        expect(await loop!.stop()).toBe(0);
        expect(await wordsOf('a.', [...annas, ...berts])).toEqual([...annas, ...berts]);
        const segments = await findWordsInSegments(broker, annas);
        expect(new Set(segments.map(({ word }) => word))).toEqual(new Set(annas));
        const recordsOf = (session: string) =>
          runCommand('topics', 'tail', 'conversations', '--session', session, '--json', ...on('a.'));
        tokens = tokensOnlyIn(await recordsOf('anna'), await recordsOf('bert'));
        expect(tokens.length).toBeGreaterThan(0);
        const aside = { session: 'anna', text: 'a zanzibarquokka that serving set aside' };
        await writeFile(join(folder, 'outbox', '1-1.json.broken'), JSON.stringify(aside));
        const line = { level: 50, msg: 'How do I pack for Zanzibar with a zanzibarquokka?' };
        await appendFile(join(folder, 'logs', 'serving.log'), `${JSON.stringify(line)}\n`);
        expect(await findWordsInFiles(folder, annas)).toHaveLength(2);
        await writeFile(join(place, 'heads.json'), await runCommand('audit', '--json', ...on('a.')));
      });

      test('nothing is erased without a prefix of its own, and nothing is deleted without a copy', async () => {
        expect(await forget('anna')).toMatchObject({
          code: 1,
          stdout: expect.stringContaining('nothing was erased: records on Kafka cannot be rewritten'),
        });
        await runCommand('audit', ...on('other.'));
        for (const [prefix, why] of [
          ['a.', 'is the prefix of the log'],
          ['other.', 'hold another log'],
        ] as const)
          expect(await forget('anna', '--into-prefix', prefix)).toMatchObject({
            code: 2,
            stderr: expect.stringContaining(why),
          });
        expect(await forget('--delete-old', '--into-prefix', 'b.')).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('no erasure has copied the log'),
        });
      });

      test('a kill at two moments does no harm, and a later run ends the work', async () => {
        const argv = ['forget', 'anna', '--yes', '--reason', 'asked by mail', '--into-prefix', 'b.'];
        const begun = async () => (await admin.listTopics()).includes('b.training');
        expect((await killed([...argv, ...on('a.'), ...queue()], begun)).code).toBe(1);
        expect(await clawloop(['audit', ...on('b.')])).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('has not finished'),
        });
        expect(await runCommand('audit', '--heads', join(place, 'heads.json'), ...on('a.'))).toContain(
          'balances',
        );
        const isNamed = async () =>
          (await admin.fetchTopicOffsets('b.meta').catch(() => [])).some(({ high }) => high === '2');
        expect((await killed([...argv, ...on('a.'), ...queue()], isNamed)).code).toBe(1);
        expect(await runCommand(...argv, ...on('a.'), ...queue())).toMatch(
          /^(erased: \d+ records|the topics of b\. have the log)[\s\S]*^LEARNED +default learned from the words in v1/m,
        );
      });

      test('no record of the copy, file of the folder or answer on Redis has the words; others keep theirs', async () => {
        expect(await wordsOf('b.', [...annas, ...tokens])).toEqual([]);
        expect(await wordsOf('b.', berts)).toEqual(berts);
        expect(await findWordsInFiles(folder, [...annas, ...tokens])).toEqual([]);
        expect(await storedAnswers()).toBe(0);
        const dumps = await Promise.all((await answers.keys('*')).map((name) => answers.dumpBuffer(name)));
        for (const word of annas) expect(dumps.some((dump) => dump?.includes(word))).toBe(false);
        expect(await ofPrefix('b.keys')).toEqual(await ofPrefix('a.keys'));
        expect((await ofPrefix('b.keys')).join()).toContain('"name":"ann"');
      });

      test('the services refuse the old prefix, and its topics are deleted after the proof', async () => {
        expect(await clawloop(['audit', ...on('a.')])).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('give --kafka-prefix b.'),
        });
        expect(await forget('anna', '--into-prefix', 'b.')).toMatchObject({
          code: 0,
          stdout: expect.stringContaining('have the log without the words already'),
        });
        const deleted = await forget('--delete-old', '--into-prefix', 'b.');
        expect(deleted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^deleted: \d+ topics/m) });
        expect((await admin.listTopics()).filter((name) => name.startsWith('a.'))).toEqual(['a.meta']);
        const old = async () =>
          (await readdir(broker)).filter((name) => name.startsWith('a.') && !name.startsWith('a.meta'));
        await until('the broker has removed the files', async () => (await old()).length === 0);
        expect(await findWordsInSegments(broker, [...annas, ...tokens])).toEqual([]);
        expect(await findWordsInSegments(broker, berts)).not.toEqual([]);
        expect(await forget('--delete-old', '--into-prefix', 'b.')).toMatchObject({ code: 0 });
        expect(await forget('anna', '--into-prefix', 'c.')).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('were deleted after an erasure: give --kafka-prefix b.'),
        });
      });

      test('the audit names the erasure and balances, and replay says why it cannot repeat a version', async () => {
        expect(await runCommand('audit', '--heads', join(place, 'heads.json'), ...on('b.'))).toMatch(
          /^erased on 2\S+ by .+: \d+ records and \d+ rows of session anna \(asked by mail\)$[\s\S]*^balances$/m,
        );
        expect(await runCommand('replay', ...on('b.'))).toMatch(
          /v1 +not covered: The words of \S+ were erased at/,
        );
        const deep = await clawloop(['audit', '--deep', ...on('b.')]);
        expect(deep).toMatchObject({
          code: 2,
          stdout: expect.stringContaining('may come from the erasure of'),
        });
      });

      test('the services go on with the new prefix', async () => {
        await startOn('b.');
        const before = await runCommand('turns', 'list', '--json', '-n', '1000', ...on('b.'));
        await chat('anna', 'How do I pack for Rome again?', 'Perfect, thanks!');
        await until('the folds go on', async () => {
          const now = await runCommand('turns', 'list', '--json', '-n', '1000', ...on('b.'));
          return now.split('\n').length > before.split('\n').length;
        });
        expect(await runCommand('turns', 'list', ...on('b.'))).toContain('[words erased]');
        expect(await runCommand('policy', 'retrain', '--yes', ...on('b.'))).toMatch(
          /^the head goes back from v1 to v0\n.* again.*; left out: \d, which/,
        );
        await until('the other person is learned again', async () =>
          /^v\d +v0 +\d of v1 .* (head|in lineage) /m.test(await runCommand('policy', 'list', ...on('b.'))),
        );
        expect(await runCommand('audit', ...on('b.'))).toContain('balances');
        expect(await loop!.stop()).toBe(0);
      });
    });
  },
  start,
);
