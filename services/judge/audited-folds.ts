import type { AuditedFold } from '../../shared/log/deep-audit.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { judgeFold } from './judge-fold.ts';

/** The judge's fold and the events that only it writes. */
export const auditedFolds: readonly AuditedFold[] = [
  {
    group: judgeFold.name,
    fold: judgeFold as Fold<unknown>,
    decides: ['judgment.reached', 'judgment.revised'],
  },
];
