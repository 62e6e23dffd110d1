import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FinishedAnswer } from '../../services/serving/answer/answer.ts';
import { openRecordedAnswers, type RecordedAnswer } from '../../services/serving/answer/recorded-answers.ts';
import { openRedisPlace } from '../../services/serving/answer/redis-place.ts';
import { openSharedAnswers } from '../../services/serving/answer/shared-answers.ts';
import { withEmptyRedis } from './bullmq-redis.ts';
import { until } from './event-log-fixtures.ts';

const usage = { promptTokens: 1, completionTokens: 1 };
const answerOf = (id: string, content = 'hello'): RecordedAnswer => {
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 5 };
  const finished: FinishedAnswer = {
    version: 3,
    usage,
    choices: [
      {
        index: 0,
        answer: { role: 'assistant', content },
        recorded: true,
        tokens: undefined,
        generated: { version: 3, finishReason: 'stop', tokens: null, sampling, usage },
      },
    ],
  };
  return { id, created: 7, finished };
};
const request = { keyId: 'ann', idempotencyKey: 'order-1', digest: 'body' };
const never = new AbortController().signal;
const PREFIX = 'clawloop:answers:';
const LIMITS = { bytes: 2 ** 20, bytesPerOwner: 2 ** 20 };

withEmptyRedis(
  'answers stored by Idempotency-Key, for hosts that share no folder',
  (redis, { client, atEnd }) => {
    /** The stored answers of a host with its own folder. */
    const openHost = async ({
      secret = 'the secret of all servings',
      limits = LIMITS,
      ...leases
    }: {
      secret?: string;
      limits?: typeof LIMITS;
      leaseMs?: number;
      renewMs?: number;
    } = {}) => {
      const folder = await mkdtemp(join(tmpdir(), 'clawloop-answers-'));
      const troubles: string[] = [];
      const notice = { away: (reason: string) => void troubles.push(reason), back: () => {} };
      const address = { url: redis().url };
      const place = await openRedisPlace({ address, prefix: PREFIX, limits, notice });
      atEnd(() => rm(folder, { recursive: true, force: true }), place.close);
      const local = openRecordedAnswers(folder);
      return {
        troubles,
        ...openSharedAnswers({ local, place, secret: Buffer.from(secret), ...leases }),
      };
    };
    type Host = Awaited<ReturnType<typeof openHost>>;

    const claimFirst = async (host: Host, wanted: Parameters<Host['claim']>[0] = request) => {
      const claim = await host.claim(wanted, never);
      if (claim.kind !== 'first') throw new Error('an answer was stored');
      return claim;
    };
    const answer = async (host: Host, id: string, wanted = request, content?: string) => {
      const claim = await claimFirst(host, wanted);
      await claim.keep(answerOf(id, content));
      claim.leave();
    };
    const peekAt = async (host: Host, wanted: typeof request) => {
      const claim = await host.claim(wanted, never);
      if (claim.kind === 'first') claim.leave();
      return claim.kind === 'recorded' ? claim.answer.id : undefined;
    };
    /** Like `peekAt`, and waits until Redis has no claim any more. */
    const storedAt = async (host: Host, wanted = request): Promise<string | undefined> => {
      const id = await peekAt(host, wanted);
      if (id === undefined) await until(async () => (await leftIn()).length === 0);
      return id;
    };
    /** Names of claims: they end within seconds, answers after a day. */
    const leftIn = async () => {
      const names = (await client().keys(`${PREFIX}*`)).filter((name) => /[0-9a-f]{64}$/.test(name));
      const ends = await Promise.all(names.map((name) => client().pttl(name)));
      return names.filter((_, index) => ends[index]! < 60_000);
    };

    test('a request that is repeated at another host gets the first answer', async () => {
      const [one, other] = [await openHost(), await openHost()];
      await answer(one, 'chatcmpl-1');
      expect(await storedAt(other)).toBe('chatcmpl-1');
      expect(await storedAt(one)).toBe('chatcmpl-1');
      expect(await storedAt(other, { ...request, keyId: 'bob' })).toBeUndefined();
      const reused = { status: 422, code: 'idempotency_key_reused' };
      await expect(other.claim({ ...request, digest: 'other' }, never)).rejects.toMatchObject(reused);
    });

    test('while a host answers, another waits: for its answer, or to answer itself', async () => {
      const [one, other] = [await openHost(), await openHost()];
      for (const isKept of [true, false]) {
        const wanted = { ...request, idempotencyKey: `order-${isKept}` };
        const first = await claimFirst(one, wanted);
        const waiting = other.claim(wanted, never);
        const gone = new AbortController();
        const left = other.claim(wanted, gone.signal);
        gone.abort();
        await expect(left).rejects.toBe(gone.signal.reason);
        await expect((await openHost()).claim({ ...wanted, digest: 'other' }, never)).rejects.toMatchObject({
          status: 422,
        });
        if (isKept) await first.keep(answerOf('chatcmpl-2'));
        first.leave();
        const second = await waiting;
        expect(second.kind).toBe(isKept ? 'recorded' : 'first');
        if (second.kind === 'first') second.leave();
      }
    });

    test('a host that dies lets others answer; one that only stops for a while changes nothing afterwards', async () => {
      const stuck = await openHost({ leaseMs: 200, renewMs: 1e8 });
      const [other, third] = [await openHost(), await openHost()];
      const late = await claimFirst(stuck);
      await answer(other, 'chatcmpl-of-other'); // waits until the claim ends
      await late.keep(answerOf('chatcmpl-late'));
      late.leave();
      expect(await storedAt(third)).toBe('chatcmpl-of-other');
    });

    test('a host that answers for long keeps its claim', async () => {
      const slow = await openHost({ leaseMs: 30_000, renewMs: 20 });
      const claim = await claimFirst(slow);
      const [name] = await leftIn();
      await client().pexpire(name!, 10_000);
      await until(async () => (await client().pttl(name!)) > 20_000);
      claim.leave();
      await until(async () => (await leftIn()).length === 0);
    });

    test('without Redis each host has its own answers, and shares again when Redis is back', async () => {
      const [one, other] = [await openHost(), await openHost()];
      await answer(one, 'chatcmpl-before');
      await redis().kill();
      expect(await peekAt(one, request)).toBe('chatcmpl-before');
      const wanted = { ...request, idempotencyKey: 'order-2' };
      await answer(one, 'chatcmpl-here', wanted);
      await answer(other, 'chatcmpl-there', wanted);
      expect([await peekAt(one, wanted), await peekAt(other, wanted)]).toEqual([
        'chatcmpl-here',
        'chatcmpl-there',
      ]);
      expect(one.troubles.length).toBeGreaterThan(0);
      await redis().start();
      await until(async () => (await storedAt(other)) === 'chatcmpl-before', 20_000);
    });
    test('a Redis that is full shares nothing and stops nobody', async () => {
      const one = await openHost();
      await client().config('SET', 'maxmemory', '1');
      atEnd(() => client().config('SET', 'maxmemory', '0'));
      await answer(one, 'chatcmpl-1');
      expect(await peekAt(one, request)).toBe('chatcmpl-1');
      expect(one.troubles.join()).toContain('OOM');
    });

    test('if Redis loses its contents, a host still repeats what it answered itself', async () => {
      const [one, other] = [await openHost(), await openHost()];
      await answer(one, 'chatcmpl-1');
      await client().flushall();
      expect(await storedAt(one)).toBe('chatcmpl-1');
      expect(await storedAt(other)).toBeUndefined();
    });

    test('Redis shows neither texts nor names, and hosts with another secret share nothing', async () => {
      const [one, stranger] = [await openHost(), await openHost({ secret: 'another secret' })];
      await answer(one, 'chatcmpl-1');
      const shown = await Promise.all(
        (await client().keys('*')).map(async (name) => [name, await client().dump(name)]),
      );
      for (const word of ['hello', 'chatcmpl', 'ann', 'order-1', 'body'])
        expect(JSON.stringify(shown)).not.toContain(word);
      expect(await storedAt(stranger)).toBeUndefined();
    });

    test('an answer that somebody put under another name is not given', async () => {
      const [one, other] = [await openHost(), await openHost()];
      await answer(one, 'chatcmpl-1');
      const [from] = (await client().keys(`${PREFIX}*`)).filter((name) => /[0-9a-f]{64}$/.test(name));
      const wanted = { ...request, idempotencyKey: 'order-2' };
      const claim = await claimFirst(one, wanted);
      const [to] = await leftIn();
      await client().copy(from!, to!, 'REPLACE');
      expect(await peekAt(other, wanted)).toBeUndefined();
      claim.leave();
    });

    test('a key beyond its bytes loses its oldest answers, and so does the key with the most beyond all bytes', async () => {
      const limits = { bytes: 22_000, bytesPerOwner: 12_000 };
      const host = await openHost({ limits });
      const long = 'x'.repeat(2_000); // about 3,200 bytes in Redis
      const of = (keyId: string, n: number) => ({ ...request, keyId, idempotencyKey: `k${n}` });
      const kept = async (keyId: string, count: number) => {
        const found: number[] = [];
        for (let n = 0; n < count; n++)
          if ((await storedAt(await openHost({ limits }), of(keyId, n))) !== undefined) found.push(n);
        return found;
      };
      for (const n of [0, 1, 2, 3, 4]) await answer(host, `chatcmpl-${n}`, of('ann', n), long);
      expect(await kept('ann', 5)).toEqual([2, 3, 4]);
      for (const n of [0, 1, 2]) await answer(host, `chatcmpl-${n}`, of('bob', n), long);
      await answer(host, 'chatcmpl-0', of('carol', 0), long);
      expect([await kept('ann', 5), await kept('bob', 3), await kept('carol', 1)]).toEqual([
        [3, 4],
        [0, 1, 2],
        [0],
      ]);
      await answer(host, 'chatcmpl-5', of('ann', 5), 'y'.repeat(20_000));
      expect(await kept('ann', 6)).toEqual([3, 4]);
      const sizes = await client().hvals(`${PREFIX}bytes`);
      const names = (await client().keys(`${PREFIX}*`)).filter((name) => /[0-9a-f]{64}$/.test(name));
      const stored = await Promise.all(names.map((name) => client().strlen(name)));
      expect(sizes.map(Number).reduce((a, b) => a + b)).toBe(stored.reduce((a, b) => a + b));
    });
  },
);
