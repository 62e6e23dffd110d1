import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryOf } from '../../soak/memory.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';
import type { WireRequest } from '../serving-fuzz-requests.ts';
import { requestOver } from './any-route.ts';
import { hostilePieces } from './hostile.ts';

/** CLAWLOOP_FUZZ_REQUESTS=5000 makes a shorter run. */
const REQUESTS = Number(process.env.CLAWLOOP_FUZZ_REQUESTS ?? 100_000);
const AT_ONCE = 8;
const ROUND = 2_000;
/** limit in ms of every request except one for an answer, whose prompt waits for others */
const HANG_MS = 2_000;
const ANSWER_HANG_MS = 30_000;
const PROBE_MS = 200;
/** largest memory of a process at the end, relative to its memory after half of the requests */
const GROWTH = 1.25;

type Slow = { readonly ms: number; readonly request: string };

let folder: string;
let system: ClawLoop;
let pool: Pool;
let keys: readonly string[];

const headersOf = (key: string) => ({ 'content-type': 'application/json', authorization: `Bearer ${key}` });

async function newKey(name: string): Promise<string> {
  const { stdout } = await clawloop(['keys', 'create', name, '--data-folder', folder]);
  return /claw-[\w-]+/.exec(stdout)![0];
}

async function send({ method, path, headers, body }: WireRequest) {
  const started = performance.now();
  const answer = await pool.request({ method: method as 'POST', path, headers, body: body ?? null });
  const text = await answer.body.text();
  return { status: answer.statusCode, text, ms: performance.now() - started };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-fuzz-'));
  const access = [await newKey('a'), await newKey('b')];
  system = await startClawLoop(folder);
  pool = new Pool(system.url, { connections: AT_ONCE + 4, headersTimeout: 60_000, bodyTimeout: 60_000 });
  const { text } = await send({
    method: 'POST',
    path: '/rl/start_session',
    headers: headersOf(access[0]!),
    body: JSON.stringify({ task_id: 'fuzz' }),
  });
  const { api_key: session } = JSON.parse(text) as { readonly api_key: string };
  const right = Array.from({ length: 100 }, () => [...access, session]).flat();
  keys = [...right, 'claw-wrong', 'sk-sess-wrong'];
});

afterAll(async () => {
  await pool?.close();
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

test(`${REQUESTS} requests over all routes: no 5xx, no hang, no crash, memory flat`, async () => {
  const pids = await system.pids();
  const failures: string[] = [];
  const slow: Slow[] = [];
  const statuses = new Map<number, number>();
  const held: Readonly<Record<string, number>>[] = [];
  /** ids of the latest answers, for feedback, rewards and look-ups */
  let ids: readonly string[] = [];

  const round = async (seed: number) => {
    const queue = fc.sample(requestOver(keys, ids), { numRuns: ROUND, seed }).values();
    const worker = async () => {
      for (const request of queue) {
        const seen = `${request.method} ${request.path} ${String(request.body).slice(0, 2_000)}`;
        const { status, text, ms } = await send(request).catch((error: Error) => ({
          status: 0,
          text: error.message,
          ms: 0,
        }));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 0 || status >= 500) failures.push(`${status} ${text.slice(0, 300)} <- ${seen}`);
        const id = status === 200 ? /"((?:chatcmpl-|resp_)[\w-]{20,})"/.exec(text)?.[1] : undefined;
        if (id !== undefined) ids = [...ids.slice(-50), id];
        const asksForAnswer = /completions|messages|responses$/.test(request.path);
        // the refusal of a wrong key is delayed by up to two seconds
        if (status !== 401 && ms > (asksForAnswer ? ANSWER_HANG_MS : HANG_MS))
          slow.push({ ms: Math.round(ms), request: seen });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };

  const probe = setInterval(async () => {
    const { ms } = await send({ method: 'GET', path: '/healthz', headers: {}, body: undefined });
    if (ms > HANG_MS) slow.push({ ms: Math.round(ms), request: 'GET /healthz' });
  }, PROBE_MS);
  for (let done = 0; done < REQUESTS; done += ROUND) {
    await round(done);
    const memory = await memoryOf(pids);
    held.push(Object.fromEntries(Object.entries(memory).map(([name, of]) => [name, Math.round(of.held)])));
    console.log(`${done + ROUND} of ${REQUESTS}`, JSON.stringify(held.at(-1)), `${slow.length} slow`);
  }

  clearInterval(probe);
  console.log('statuses', JSON.stringify([...statuses].sort(([a], [b]) => a - b)));
  expect(failures.slice(0, 5)).toEqual([]);
  expect(slow.slice(0, 5)).toEqual([]);
  expect(await system.pids()).toEqual(pids); // nothing crashed
  const half = held[Math.floor((held.length - 1) / 2)]!;
  for (const [name, end] of Object.entries(held.at(-1)!))
    expect(end, `${name}, MiB, of ${JSON.stringify(held)}`).toBeLessThan(half[name]! * GROWTH + 50);
});

/**
 * A conversation whose second message is hostile, so that the collector matches it and the judge reads it. A short
 * message follows, because a prompt must fit. Returns the ms of the request with the hostile text.
 */
async function reactWith(piece: string, length: number): Promise<number> {
  const chat = async (messages: readonly object[]) => {
    const body = JSON.stringify({ model: 'clawloop', max_tokens: 80, messages });
    const path = '/v1/chat/completions';
    const answer = await send({ method: 'POST', path, headers: headersOf(keys[1]!), body });
    expect(answer.status, `${JSON.stringify(piece)} ${length}: ${answer.text.slice(0, 300)}`).toBe(200);
    return answer;
  };
  const asked = { role: 'user', content: `How do I boil an egg? (${conversations++})` };
  const { text } = await chat([asked]);
  const { message } = (JSON.parse(text) as { choices: { message: object }[] }).choices[0]!;
  const hostile = { role: 'user', content: piece.repeat(Math.ceil(length / piece.length)) };
  const rest = [
    { role: 'assistant', content: 'Fine.' },
    { role: 'user', content: 'And an onion?' },
  ];
  return (await chat([asked, message, hostile, ...rest])).ms;
}
let conversations = 0;

test('a hostile text that doubles its length costs at most about twice as much', async () => {
  const lengths = [16, 17, 18, 19].map((power) => 2 ** power);
  const rows: string[] = [];
  for (const piece of hostilePieces) {
    const times: number[] = [];
    for (const length of lengths) {
      const tries: number[] = [];
      for (let one = 0; one < 3; one++) tries.push(await reactWith(piece, length));
      times.push(Math.min(...tries));
    }
    rows.push(`${JSON.stringify(piece)}: ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
    // eight times the text; with quadratic cost, 64 times the time
    expect(times.at(-1)! / Math.max(20, times[0]!), rows.at(-1)).toBeLessThan(24);
  }
  console.log(rows.join('\n'));
});

test('the other services have kept up, and the audit balances', async () => {
  await until(
    'no vote is owed',
    async () => (await clawloop(['audit', '--data-folder', folder])).code === 0,
    600_000,
  );
  const { stdout, code } = await clawloop(['audit', '--data-folder', folder]);
  console.log(stdout);
  expect(code).toBe(0);
  // the judge has read the hostile texts
  expect(
    Number(/in a batch +(\d+)/.exec(stdout)?.[1]) + Number(/no-verdict +(\d+)/.exec(stdout)?.[1] ?? 0),
  ).toBeGreaterThan(0);
  expect(system.output()).not.toMatch(/"level":(50|60)|cannot continue/);
});
