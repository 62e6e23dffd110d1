import { BatchRequested } from '../../../shared/events/batch-requested.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../../shared/events/learning-resumed.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';

export const adapter = 'default';
export const command = (id: string) => ({ id, source: 'clawloop/cli', time: '2026-01-01T00:00:00Z' });
export const paused = (id: string) => LearningPaused.create({ ...command(id), data: { adapter } });
export const resumed = (id: string) => LearningResumed.create({ ...command(id), data: { adapter } });
export const requested = (after: number) =>
  BatchRequested.create({ ...command(`r${after}`), data: { adapter, after, reason: 'operator' } });
export const promoted = (n: number, from: number) =>
  PolicyPromoted.create({
    ...command(`p${n}`),
    data: { batchId: `default/batch/${n}`, adapter, from, to: n, checkpoint: `c${n}`, digest: `d${n}` },
  });
export const rejected = (n: number) =>
  PolicyRejected.create({
    ...command(`j${n}`),
    data: { batchId: `default/batch/${n}`, adapter, reason: 'not-finite', detail: '' },
  });
export const rolledBack = (id: string, from: number, to: number) =>
  PolicyRolledBack.create({ ...command(id), data: { adapter, from, to } });
