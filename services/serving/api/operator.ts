import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { position } from '../../../shared/events/position.ts';
import {
  deletionFact,
  learningFact,
  rollbackFact,
  trainNowFact,
  withdrawalFact,
} from '../../../shared/lineage/operator-facts.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { planRedrive } from '../../../shared/log/redrive.ts';
import { isOperator } from '../../../shared/runtime/known-keys.ts';
import { ServingError } from '../errors.ts';
import type { AdapterHead } from '../heads/head-view.ts';
import { accessCallerOf } from '../http/caller.ts';
import { readBody } from '../http/read-body.ts';
import type { BodyConfig } from '../http/request-bodies.ts';
import type { ApiDeps } from './api-deps.ts';

const SOURCE = 'clawloop/serving';

const reason = z.string().max(2_000).nullish();
const RollbackBody = z.object({ adapter: z.string().nullish(), version: z.int().min(0), reason });
const LearningBody = z.object({ adapter: z.string().nullish(), reason });
const TurnBody = z.object({ turn_id: z.string().min(1).max(512), at: position, reason });
const RedriveBody = z.object({ last: z.int().min(1).max(100_000).nullish() });
const mayBeEmpty: BodyConfig = { mayBeEmpty: true };

/** The operator's commands for programs such as the console: each request appends the event of its command. */
export function registerOperator(server: FastifyInstance, deps: ApiDeps): void {
  const { config, recorder, lineage } = deps;
  const adapterOf = (
    request: FastifyRequest,
    named: string | null | undefined,
  ): { readonly adapter: string; readonly head: AdapterHead } => {
    requireOperator(request);
    const adapter = named ?? config.adapters[0]!;
    if (!config.adapters.includes(adapter))
      throw ServingError.UNKNOWN_ADAPTER({ adapter: adapter.slice(0, 200), param: 'adapter' });
    return { adapter, head: lineage.of(adapter) };
  };
  const record = async (event: ClawLoopEvent): Promise<void> => {
    if (!(await recorder.record(event))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
  };

  server.post('/v1/policy/rollback', async (request) => {
    const { adapter: named, version: to, reason: why } = readBody(RollbackBody, request.body);
    const { adapter, head } = adapterOf(request, named);
    await lineage.reachEnd();
    if (!head.wasServed(to)) throw ServingError.VERSION_NEVER_SERVED({ version: to, param: 'version' });
    const from = head.head().version;
    if (from !== to) await record(rollbackFact({ adapter, from, to, reason: why ?? undefined }, SOURCE));
    return { object: 'clawloop.rollback', adapter, from, to, recorded: from !== to };
  });

  for (const action of ['pause', 'resume'] as const)
    server.post(`/v1/learning/${action}`, { config: mayBeEmpty }, async (request) => {
      const body = readBody(LearningBody, request.body ?? {});
      const { adapter } = adapterOf(request, body.adapter);
      await record(learningFact(action, { adapter, reason: body.reason ?? undefined }, SOURCE));
      return { object: 'clawloop.learning', adapter, action, recorded: true };
    });

  server.post('/v1/learning/now', { config: mayBeEmpty }, async (request) => {
    const { adapter: named } = readBody(LearningBody, request.body ?? {});
    const { adapter, head } = adapterOf(request, named);
    await lineage.reachEnd();
    const after = head.lastBatch();
    await record(trainNowFact(adapter, after, SOURCE));
    return { object: 'clawloop.learning', adapter, action: 'now', after, recorded: true };
  });

  registerTurnActions(server, deps, record);

  server.post('/v1/dead-letters/redrive', { config: mayBeEmpty }, async (request) => {
    requireOperator(request);
    const { last } = readBody(RedriveBody, request.body ?? {});
    const plan = await planRedrive(deps.log, last ?? undefined).catch(unreadable);
    const events = plan.flatMap((redrive) => (redrive.kind === 'append' ? [redrive.event] : []));
    // one at a time keeps the order, and each append within the log's size limit
    for (const event of events) await deps.log.append([event]).catch(unreadable);
    return { object: 'clawloop.redrive', put_back: events.length, letters: plan.length };
  });
}

/** Withdraw and delete: the console names a turn with the position of its answer, so nothing is searched. */
function registerTurnActions(
  server: FastifyInstance,
  { log, conversations }: ApiDeps,
  record: (event: ClawLoopEvent) => Promise<void>,
): void {
  const answerAt = async (request: FastifyRequest) => {
    const { turn_id: id, at, reason: why } = readBody(TurnBody, request.body);
    const event = await log.read('conversations', at).catch((error: unknown) => {
      if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return undefined;
      return unreadable(error);
    });
    if (event?.type !== 'interaction.completed' || event.data.interactionId !== id)
      throw ServingError.TURN_NOT_FOUND({ id: id.slice(0, 200), param: 'at' });
    return { id, answer: event.data, why: why ?? undefined };
  };
  server.post('/v1/turns/withdraw', async (request) => {
    requireOperator(request);
    const { id, answer, why } = await answerAt(request);
    await record(withdrawalFact(answer, why, SOURCE));
    return { object: 'clawloop.turn', turn_id: id, withdrawn: true };
  });
  server.post('/v1/turns/delete', async (request) => {
    requireOperator(request);
    const { id, answer } = await answerAt(request);
    const deleted = deletionFact(answer, SOURCE);
    await record(deleted);
    conversations.forget(deleted);
    return { object: 'clawloop.turn', turn_id: id, deleted: true };
  });
}

/** @throws ServingError NOT_AN_OPERATOR, NOT_FOR_SESSION_KEYS */
function requireOperator(request: FastifyRequest): void {
  if (!isOperator(accessCallerOf(request))) throw ServingError.NOT_AN_OPERATOR();
}

function unreadable(error: unknown): never {
  if (!isLogError(error, 'LogUnavailable')) throw error;
  throw Object.assign(ServingError.LOG_UNREADABLE({ retryAfterSeconds: 5 }), { cause: error });
}
