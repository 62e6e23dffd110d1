import { z } from 'zod';
import { position } from '../../../shared/events/position.ts';
import { processTerms } from '../../../shared/events/process-terms.ts';
import { defined } from '../../../shared/lang/defined.ts';
import type { Row } from './session-row.ts';

const step = z.object({
  id: z.string(),
  order: z.int(),
  depth: z.int(),
  full: z.string(),
  spoken: z.string().optional(),
  extends: z.array(z.string()).readonly(),
  answer: z.string().optional(),
  cut: z.string().optional(),
  observed: z.array(z.string()).readonly(),
});

/** A row of the session table, as it is stored. */
const storedRow = z.object({
  fixed: z.object({
    session: z.string(),
    lane: z.string(),
    keyId: z.string(),
    sessionKey: z.string(),
    task: z.string().optional(),
    adapter: z.string(),
    process: processTerms.optional(),
    startedAt: z.string(),
  }),
  /** it is the latest of its session key */
  isLatest: z.boolean(),
  answers: z.array(z.string()).readonly(),
  steps: z.array(step).readonly(),
  last: z.string().optional(),
  oldest: z.int().optional(),
  rewards: z.array(z.tuple([z.string(), z.number()])).readonly(),
  guarded: z.object({ count: z.number(), nats: z.number(), most: z.number() }),
  unread: z.array(position).readonly(),
  counted: z.int().optional(),
  ended: z.object({ at: z.string(), reason: z.enum(['explicit', 'idle', 'superseded']) }).optional(),
  isDiscarded: z.boolean(),
  latest: z.string().optional(),
  latestAt: z.number(),
});

/** The state of a session table. */
export const sessionsState = z.object({
  rows: z.array(storedRow).readonly(),
  /** lanes of the ended sessions: by access key, then in the order of their ends */
  ended: z.array(z.string()).readonly(),
  /** answers of the latest ended sessions */
  counts: z.array(z.int()).readonly(),
});
export type SessionsState = Readonly<z.output<typeof sessionsState>>;

export const storedOf = (row: Row, isLatest: boolean): SessionsState['rows'][number] => ({
  ...row,
  isLatest,
  answers: [...row.answers],
  rewards: [...row.rewards],
});

export function rowOfStored({ isLatest: _, ...row }: SessionsState['rows'][number]): Row {
  const { fixed, last, oldest, counted, ended, latest } = row;
  return {
    ...row,
    fixed: { ...fixed, task: fixed.task, process: fixed.process },
    ...{ last, oldest, counted, ended, latest },
    answers: new Set(row.answers),
    steps: row.steps.map(({ spoken, ...step }) => ({ ...step, ...defined({ spoken }) })),
    rewards: new Map(row.rewards),
    unread: [...row.unread],
  };
}
