import { z } from 'zod';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { PolicyRolledBack } from '../events/policy-rolled-back.ts';
import { defined } from '../lang/defined.ts';
import { applyHead, type HeadState, headTypes, openHead } from '../lineage/head.ts';
import { headState } from '../lineage/head-state.ts';

const versionView = z.object({
  version: z.int(),
  parent: z.int().nullable(),
  batchId: z.string(),
  time: z.string(),
  samples: z.int(),
  /** the batch whose samples trained again; absent: new samples */
  again: z.string().optional(),
  state: z.string(),
  /** reason of a rejection with numbers; otherwise empty */
  detail: z.string(),
  digest: z.string(),
  checkpoint: z.string(),
  metrics: z.record(z.string(), z.number()).readonly(),
  milliseconds: z.number(),
  fingerprint: z.string(),
});
type FoldedVersion = z.output<typeof versionView>;
export type VersionView = Readonly<FoldedVersion>;

/** The counts and the evidence of a canary, for `policy show`. */
const withNumbers = (why = '', figures: Readonly<Record<string, number>> = {}): string =>
  [why, ...Object.entries(figures).map(([name, value]) => `${name} ${value}`)].filter(Boolean).join(', ');

const rollbackView = PolicyRolledBack.schema.pick({ from: true, to: true, figures: true }).extend({
  cause: z.enum(['operator', 'automatic']),
  reason: z.string(),
  id: z.string(),
  time: z.string(),
  hadEffect: z.boolean(),
});
type RollbackView = z.output<typeof rollbackView>;

/** The state of a view that was stored. */
export const policyState = z.object({
  head: headState,
  versions: z.array(versionView),
  rollbacks: z.array(rollbackView),
  /** reason of the pause after a rollback, by the rollback's id */
  pauses: z.array(z.tuple([z.string(), z.string()])),
});
type PolicyState = z.output<typeof policyState>;

/** Types of the events that the view reads. */
export const policyTypes: ReadonlySet<string> = new Set<string>([
  ...headTypes,
  ...(['policy.trained', 'learning.paused'] as const satisfies readonly ClawLoopEvent['type'][]),
]);

/** The versions of an adapter, with batch and outcome, and the lineage. */
export function createPolicyView(adapter: string, from?: PolicyState) {
  const versions = new Map(from?.versions.map((version) => [version.version, { ...version }]));
  const rollbacks = new Map<string, RollbackView>(from?.rollbacks.map((one) => [one.id, one]));
  const pauses = new Map(from?.pauses);
  const head = openHead(from?.head);
  const numbers = new Map<string, number>();
  for (const { batchId, version } of versions.values())
    if (!numbers.has(batchId)) numbers.set(batchId, version);
  const byBatch = (batchId: string) => versions.get(numbers.get(batchId) ?? -1);
  const on = (event: ClawLoopEvent): void => {
    if (event.subject !== adapter) return;
    if (event.type === 'batch.submitted') {
      const { n, parent, batchId, samples, again } = event.data;
      if (versions.has(n)) return;
      if (!numbers.has(batchId)) numbers.set(batchId, n);
      versions.set(n, {
        version: n,
        parent,
        batchId,
        time: event.time,
        samples: samples.length,
        ...defined({ again }),
        state: 'training',
        detail: '',
        digest: '',
        checkpoint: '',
        metrics: {},
        milliseconds: 0,
        fingerprint: '',
      });
    }
    if (event.type === 'policy.trained') {
      const version = byBatch(event.data.batchId);
      if (version === undefined || version.digest !== '') return;
      const { digest, checkpoint, metrics, milliseconds, fingerprint } = event.data;
      Object.assign(version, { digest, checkpoint, metrics, milliseconds, fingerprint, state: 'trained' });
    }
    if (event.type === 'policy.canary-started') {
      const version = byBatch(event.data.batchId);
      if (version?.state === 'trained') version.state = `canary, ${100 * event.data.share} % of the sessions`;
    }
    if (event.type === 'policy.promoted') {
      const { batchId, from, reason } = event.data;
      const state = from === head.state().head ? 'promoted' : 'not served: parent-rolled-back';
      settle(
        batchId,
        reason === undefined ? state : `${state} after its canary`,
        withNumbers(reason, event.data.figures),
      );
    }
    if (event.type === 'policy.rejected') {
      const { batchId, reason, detail } = event.data;
      settle(
        batchId,
        `rejected: ${reason}`,
        reason === 'canary' ? withNumbers(detail, event.data.figures) : detail,
      );
    }
    if (event.type === 'policy.rolled-back') noteRollback(event);
    if (event.type === 'learning.paused' && event.data.rollback !== undefined)
      pauses.set(event.data.rollback, event.data.reason ?? '');
    if (event.type === 'policy.update-failed') settle(event.data.batchId, `failed: ${event.data.reason}`);
    head.on(event);
  };
  const settle = (batchId: string, state: string, detail = '') => {
    const version = byBatch(batchId);
    if (version !== undefined && /^(?:training|trained|canary,)/.test(version.state))
      Object.assign(version, { state, detail });
  };
  const noteRollback = (event: PolicyRolledBack) => {
    if (head.state().commands[event.id] || rollbacks.has(event.id)) return;
    const { from, to, cause = 'operator', reason = '', figures } = event.data;
    const hadEffect = applyHead(head.state(), event).head === to;
    rollbacks.set(event.id, { id: event.id, time: event.time, from, to, cause, reason, figures, hadEffect });
    const version = versions.get(from);
    if (hadEffect && version?.state === 'promoted')
      version.state = cause === 'automatic' ? 'rolled back by verdicts' : 'rolled back';
  };
  return {
    on,
    versions: versions as ReadonlyMap<number, VersionView>,
    head: (): HeadState => head.state(),
    state: (): PolicyState => ({
      head: { canary: null, ...head.state() },
      versions: [...versions.values()],
      rollbacks: [...rollbacks.values()],
      pauses: [...pauses],
    }),
    /** in log order */
    rollbacks: () => [...rollbacks.values()].map((one) => ({ ...one, pause: pauses.get(one.id) })),
  };
}
