import { expect, test } from 'vitest';
import { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { logError } from '../../../shared/log/errors.ts';
import type { EventLog, Following } from '../../../shared/log/event-log.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { followHead } from './head-view.ts';

const follow = (following: Partial<Following>): Pick<EventLog, 'follow' | 'ends'> => ({
  ends: async () => [0],
  follow: () => ({
    caughtUp: Promise.resolve(),
    reachEnd: async () => {},
    position: () => [0],
    done: Promise.resolve(),
    ...following,
  }),
});
const view = (following: Partial<Following>, signal: AbortSignal) =>
  followHead({ log: follow(following), adapters: ['default'], checkpointsOf: () => '/nowhere', signal });

test('a record of a newer version stops the view, not the service', async () => {
  const stop = new AbortController();
  const head = view(
    { done: Promise.reject(logError('NewerSchema', 'policy.promoted is version 9')) },
    stop.signal,
  );
  await expect.poll(() => head.stopped()).toBe('policy.promoted is version 9');
  expect(head.of('default').head()).toEqual({ version: 0 });
  stop.abort();
  await expect(head.done).resolves.toBeUndefined();
});

test('any other failure of the log ends the service', async () => {
  const head = view(
    { done: Promise.reject(logError('LogUnavailable', 'gone')) },
    new AbortController().signal,
  );
  await expect(head.done).rejects.toThrow('gone');
});

const source = { source: 'clawloop/test', time: '2026-01-01T00:00:00Z' };
const promoted = (adapter: string, n: number): readonly ClawLoopEvent[] => {
  const batchId = `${adapter}/batch/${n}`;
  return [
    BatchSubmitted.create({
      id: batchId,
      ...source,
      data: {
        batchId,
        adapter,
        n,
        parent: n - 1,
        size: 1,
        maxStaleness: 4,
        samples: [],
        seed: n,
        settings: defaultTrainingSettings('claw-nano').settings,
      },
    }),
    PolicyPromoted.create({
      id: `${batchId}/promoted`,
      ...source,
      data: { batchId, adapter, from: n - 1, to: n, checkpoint: `${n}-abc`, digest: `digest of ${adapter}` },
    }),
  ];
};

test('one reader of the log follows the heads of all served adapters and no others', async () => {
  let say: (event: ClawLoopEvent) => void = () => {};
  let offset = 0;
  const heard: string[] = [];
  const seen: string[] = [];
  const log: Pick<EventLog, 'follow' | 'ends'> = {
    ends: async () => [0],
    follow: (topic, from, onRecord) => {
      seen.push(topic);
      say = (event) => void onRecord({ event, at: { partition: 0, offset: offset++ }, time: 0 });
      return follow({}).follow(topic, from, onRecord, { signal: new AbortController().signal });
    },
  };
  const head = followHead({
    log,
    adapters: ['alice', 'bob'],
    signal: new AbortController().signal,
    checkpointsOf: (adapter) => `/data/${adapter}`,
  });
  for (const event of [...promoted('alice', 1), ...promoted('carol', 1)]) say(event);
  for (const adapter of ['alice', 'bob'])
    head.of(adapter).onHead(({ version }) => heard.push(`${adapter} ${version}`));
  await head.caughtUp;
  expect(heard).toEqual(['alice 1', 'bob 0']);
  for (const event of [...promoted('bob', 1), ...promoted('carol', 2), ...promoted('alice', 2)]) say(event);
  expect(heard).toEqual(['alice 1', 'bob 0', 'bob 1', 'alice 2']);
  expect(head.of('bob').head()).toEqual({
    version: 1,
    adapter: { name: 'bob', folder: '/data/bob/1-abc', digest: 'digest of bob' },
  });
  expect(seen).toEqual(['training']);
  expect(() => head.of('carol')).toThrow('carol is not served');
});

test('a canary is announced while it is on and its parent is the head', async () => {
  let say: (event: ClawLoopEvent) => void = () => {};
  let offset = 0;
  const log: Pick<EventLog, 'follow' | 'ends'> = {
    ends: async () => [0],
    follow: (topic, from, onRecord) => {
      say = (event) => void onRecord({ event, at: { partition: 0, offset: offset++ }, time: 0 });
      return follow({}).follow(topic, from, onRecord, { signal: new AbortController().signal });
    },
  };
  const head = followHead({
    log,
    adapters: ['alice'],
    signal: new AbortController().signal,
    checkpointsOf: (adapter) => `/data/${adapter}`,
  });
  const heard: (number | undefined)[] = [];
  const [submitted, outcome] = promoted('alice', 1);
  say(submitted!);
  head.of('alice').onCanary((canary) => heard.push(canary?.policy.version));
  await head.caughtUp;
  const data = {
    batchId: 'alice/batch/1',
    adapter: 'alice',
    from: 0,
    to: 1,
    checkpoint: '1-abc',
    digest: 'd',
  };
  say(PolicyCanaryStarted.create({ id: 'alice/batch/1/canary', ...source, data: { ...data, share: 0.1 } }));
  expect(head.of('alice').head().version).toBe(0);
  expect(heard).toEqual([undefined, 1]);
  say(outcome!);
  expect(head.of('alice').head().version).toBe(1);
  expect(heard.at(-1)).toBeUndefined();
});
