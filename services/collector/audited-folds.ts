import type { AuditedFold } from '../../shared/log/deep-audit.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { COLLECTOR } from './source.ts';
import { submit } from './submit.ts';

/** An operator rolls back and pauses, too, and a trainer ends a batch without a canary. */
const sharedTypes = ['policy.rolled-back', 'learning.paused', 'policy.promoted', 'policy.rejected'] as const;

/** The collector's folds, each with the events that only it writes. */
export const auditedFolds: readonly AuditedFold[] = [
  {
    group: attribute.name,
    fold: attribute as Fold<unknown>,
    decides: [
      ...(['turn.completed', 'turn.continued', 'turn.skipped', 'turn.feedback', 'turn.withdrawn'] as const),
      ...(['session.opened', 'session.closed', 'turns.forgotten'] as const),
    ],
  },
  {
    group: assemble.name,
    fold: assemble as Fold<unknown>,
    decides: ['sample.ready', 'sample.withdrawn', 'sample.dropped', 'verdict.recorded'],
  },
  {
    group: submit.name,
    fold: submit as Fold<unknown>,
    decides: [
      ...(['batch.submitted', 'sample.dropped', 'wish.set-aside', 'wish.taken-up'] as const),
      ...sharedTypes,
    ],
    shared: { types: sharedTypes, source: COLLECTOR },
  },
];
