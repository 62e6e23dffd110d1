import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../shared/events/policy-canary-started.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import { PolicyTrained } from '../../shared/events/policy-trained.ts';
import { PolicyUpdateFailed } from '../../shared/events/policy-update-failed.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { CheckpointState, GateResult } from '../../shared/policy/checkpoints/state.ts';

/**
 * State of a checkpoint that names its whole input. Checkpoints of earlier versions do not and are never
 * outcomes.
 */
export type BoundState = CheckpointState & Required<Pick<CheckpointState, 'batchDigest' | 'samplesDigest'>>;

/** How a batch ended. The first outcome in the log counts; all attempts that committed a checkpoint agree. */
export type Outcome =
  | { readonly kind: 'trained'; readonly checkpoint: string; readonly state: BoundState }
  | { readonly kind: 'not-finite' | 'nothing-learned'; readonly detail: string }
  | {
      readonly kind: 'failed';
      readonly reason: PolicyUpdateFailed['data']['reason'];
      readonly detail: string;
    };

const source = 'clawloop/trainer';

/** The events of an outcome. Their ids follow from the batch, so appending them again changes nothing. */
export function outcomeEvents(
  { batchId, adapter }: Pick<BatchSubmitted['data'], 'batchId' | 'adapter'>,
  outcome: Outcome,
  time: string,
): readonly ClawLoopEvent[] {
  const common = { batchId, adapter };
  const envelope = (suffix: string) => ({ id: `${batchId}/${suffix}`, source, time });
  const rejected = (why: Pick<PolicyRejected['data'], 'reason' | 'detail' | 'figures'>) =>
    PolicyRejected.create({ ...envelope('rejected'), data: { ...common, ...why } });
  switch (outcome.kind) {
    case 'not-finite':
    case 'nothing-learned':
      return [rejected({ reason: outcome.kind, detail: outcome.detail })];
    case 'failed': {
      const { reason, detail } = outcome;
      return [
        PolicyUpdateFailed.create({ ...envelope('update-failed'), data: { ...common, reason, detail } }),
      ];
    }
    case 'trained': {
      const { checkpoint, state } = outcome;
      const { version, parent, digest, batchDigest, samplesDigest, gate } = state;
      const { metrics, fingerprint, milliseconds, leftOut } = state;
      const trained = PolicyTrained.create({
        ...envelope('trained'),
        data: {
          ...common,
          version,
          parent,
          checkpoint,
          digest,
          batchDigest,
          samplesDigest,
          metrics,
          fingerprint,
          milliseconds,
          ...defined({ leftOut }),
        },
      });
      const { canaryShare = 0 } = state.settings;
      const served = { ...common, from: parent, to: version, checkpoint, digest };
      const accepted =
        canaryShare > 0
          ? PolicyCanaryStarted.create({ ...envelope('canary'), data: { ...served, share: canaryShare } })
          : PolicyPromoted.create({ ...envelope('promoted'), data: served });
      const verdict = gate.passed ? accepted : rejected(refusalData(gate));
      return [trained, verdict];
    }
  }
}

const refusalData = ({ reason, detail, figures }: Extract<GateResult, { passed: false }>) => ({
  reason,
  detail,
  ...defined({ figures }),
});

/** For metrics and logs. */
export function outcomeName(outcome: Outcome): string {
  if (outcome.kind === 'failed') return outcome.reason;
  if (outcome.kind !== 'trained') return outcome.kind;
  const { gate, settings } = outcome.state;
  return !gate.passed ? gate.reason : (settings.canaryShare ?? 0) > 0 ? 'canary' : 'promoted';
}
