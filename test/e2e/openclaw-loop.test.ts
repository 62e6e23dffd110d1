import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { capturedAnswer, describeCaptured, readCaptures, replay, scriptAnswer } from './captured-requests.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';
import { type UpstreamDouble, upstreamDouble } from './serving-upstream-double.ts';

/** A line of `clawloop turns list --json`, as far as it is looked at. */
type Turn = {
  readonly turnId: string;
  readonly session: string;
  readonly rule: string;
  readonly stage: { readonly kind: string; readonly reason?: string };
};

const parent = '39f3f8a7-7c69-45da-a277-142e8b73625e';
const child = '13e26516-85d5-4378-85e0-3cd066e3caf3';
/** Session and rule by capture number. All are skipped: the upstream engine gives no token ids. */
const expected: Readonly<Record<number, string>> = {
  3: 'probe-1 no-token-ids',
  7: 'probe-2 no-token-ids',
  8: 'probe-2 no-token-ids',
  9: 'probe-2 no-token-ids',
  50: `${parent} no-token-ids`,
  51: `${parent} no-token-ids`,
  52: `${child} subagent side`,
  53: `${parent} announce side`,
};

describeCaptured('requests captured from OpenClaw, through the whole loop', () => {
  let folder: string;
  let loop: ClawLoop;
  let upstream: UpstreamDouble;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-'));
    upstream = await upstreamDouble();
    loop = await startClawLoop(folder, [
      '--serving-engine',
      'upstream',
      '--serving-upstream-url',
      upstream.url,
    ]);
  });
  afterAll(async () => {
    await loop?.stop();
    await upstream?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('are streamed, attributed to their sessions, and told main from side', async () => {
    const ids = new Map<string, number>();
    for (const { requests } of readCaptures()) {
      for (const [index, request] of requests.entries()) {
        if (expected[request.n] === undefined) continue;
        scriptAnswer(upstream, capturedAnswer(requests, index) ?? { role: 'assistant', content: 'Done.' });
        ids.set((await replay(loop, request)).id, request.n);
      }
    }
    const placed = await until('every request has its outcome', async () => {
      const { stdout } = await clawloop(['turns', 'list', '--json', '--data-folder', folder]);
      const turns = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Turn);
      return turns.length === ids.size && turns.every(({ stage }) => stage.kind === 'not-trained')
        ? turns
        : undefined;
    });
    const where = Object.fromEntries(
      placed.map(({ turnId, session, rule, stage }) => [
        ids.get(turnId),
        stage.reason === 'side' ? `${session} ${rule} side` : `${session} ${stage.reason}`,
      ]),
    );
    expect(where).toEqual(expected);
    const audit = await clawloop(['audit', '--data-folder', folder]);
    expect(audit.stdout).toMatch(/balances/);
  });
});
