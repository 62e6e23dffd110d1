import { randomUUID } from 'node:crypto';
import { BatchRequested } from '../events/batch-requested.ts';
import type { InteractionCompleted } from '../events/interaction-completed.ts';
import { InteractionWithdrawn } from '../events/interaction-withdrawn.ts';
import { LearningPaused } from '../events/learning-paused.ts';
import { LearningResumed } from '../events/learning-resumed.ts';
import { PolicyRolledBack } from '../events/policy-rolled-back.ts';
import { ResponseDeleted } from '../events/response-deleted.ts';
import { defined } from '../lang/defined.ts';
import { utcNow } from '../runtime/clock.ts';

/** `clawloop/cli` or `clawloop/serving` */
type Source = `clawloop/${string}`;
type OnAdapter = { readonly adapter: string; readonly reason?: string | undefined };

/** The envelope of an operator's command. */
export const operatorOrigin = (source: Source) => ({ id: randomUUID(), source, time: utcNow() });
const dataOf = ({ adapter, reason }: OnAdapter) => ({ adapter, ...defined({ reason }) });

/** An operator pauses or resumes the forming of batches. */
export const learningFact = (action: 'pause' | 'resume', on: OnAdapter, source: Source) =>
  (action === 'pause' ? LearningPaused : LearningResumed).create({
    ...operatorOrigin(source),
    data: dataOf(on),
  });

/** An operator wants a batch of the samples there are. `after`: number of the last batch */
export const trainNowFact = (adapter: string, after: number, source: Source) =>
  BatchRequested.create({ ...operatorOrigin(source), data: { adapter, after, reason: 'operator' } });

/** An operator moves the head. It applies only while `from` is on the lineage of the head. */
export const rollbackFact = (
  { from, to, ...on }: OnAdapter & { readonly from: number; readonly to: number },
  source: Source,
) =>
  PolicyRolledBack.create({
    ...operatorOrigin(source),
    data: { ...dataOf(on), from, to, cause: 'operator' },
  });

type Answered = Pick<InteractionCompleted['data'], 'interactionId' | 'lane' | 'key' | 'adapter'>;

const answerOf = ({ interactionId, lane, key, adapter }: Answered) => ({ interactionId, lane, key, adapter });

/** An operator keeps a turn from training. A second one has the same id. */
export const withdrawalFact = (answer: Answered, reason: string | undefined, source: Source) =>
  InteractionWithdrawn.create({
    ...operatorOrigin(source),
    id: `${answer.interactionId}/taken-back`,
    data: { ...answerOf(answer), ...defined({ reason }) },
  });

/** The answer can no longer be found by its id, and does not train unless it already has. */
export const deletionFact = (answer: Answered, source: Source) =>
  ResponseDeleted.create({
    ...operatorOrigin(source),
    id: `${answer.interactionId}/deleted`,
    data: answerOf(answer),
  });
