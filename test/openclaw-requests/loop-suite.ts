import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop, until } from '../e2e/harness/clawloop.ts';
import { type UpstreamDouble, upstreamDouble } from '../e2e/serving-upstream-double.ts';
import { replay, scriptAnswer } from './replay.ts';
import { answerShown, type OpenClawRequests } from './requests.ts';

/** A line of `clawloop turns list --json`, as far as it is looked at. */
type Turn = {
  readonly turnId: string;
  readonly session: string;
  readonly rule: string;
  readonly stage: { readonly kind: string; readonly reason?: string };
};

/** OpenClaw's requests through all four services. `load` is called when a test runs. */
export function loopSuite(name: string, load: () => OpenClawRequests): void {
  describe(name, () => {
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
      const all = load();
      const sent = (['first-turn', 'tool-loop', 'subagent'] as const).map((name) => all[name].requests);
      const names = new Map<string, string>();
      for (const [name, requests] of Object.entries({
        first: sent[0]!,
        loop: sent[1]!,
        subagent: sent[2]!,
      })) {
        for (const [index, request] of requests.entries()) {
          scriptAnswer(upstream, answerShown(requests, index) ?? { role: 'assistant', content: 'Done.' });
          names.set((await replay(loop, request)).id, `${name}-${index + 1}`);
        }
      }
      const placed = await until('every request has its outcome', async () => {
        const { stdout } = await clawloop(['turns', 'list', '--json', '--data-folder', folder]);
        const turns = stdout
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Turn);
        return turns.length === names.size && turns.every(({ stage }) => stage.kind === 'not-trained')
          ? turns
          : undefined;
      });
      const where = Object.fromEntries(
        placed.map(({ turnId, session, rule, stage }) => [
          names.get(turnId)!,
          stage.reason === 'side' ? `${session} ${rule} side` : `${session} ${stage.reason}`,
        ]),
      );
      // all are skipped, because the upstream engine gives no token ids
      const { subagent } = all;
      expect(where).toEqual({
        'first-1': `${all['first-turn'].session} no-token-ids`,
        'loop-1': `${all['tool-loop'].session} no-token-ids`,
        'loop-2': `${all['tool-loop'].session} no-token-ids`,
        'loop-3': `${all['tool-loop'].session} no-token-ids`,
        'subagent-1': `${subagent.session} no-token-ids`,
        'subagent-2': `${subagent.session} no-token-ids`,
        'subagent-3': `${subagent.childSession} subagent side`,
        'subagent-4': `${subagent.session} announce side`,
      });
      const audit = await clawloop(['audit', '--data-folder', folder]);
      expect(audit.stdout).toMatch(/balances/);
    });
  });
}
