import { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import { SampleReady } from '../../../shared/events/sample-ready.ts';
import { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';

export type TurnsShape = {
  /** tokens of a prompt; default 40 */
  readonly promptTokens?: number;
  /** default 50 */
  readonly lanes?: number;
};

/** Turns of a session, of a batch, and of an append. */
const SESSION = 20;
const BATCH = 100;
const CHUNK = 1_000;
/** ms between two turns: 100,000 of them fill ten weeks */
const PACE_MS = 60_000;

const first = Date.UTC(2026, 0, 1);
const source = 'test';
const questions = [
  'How do I pack for a weekend trip?',
  'What is a quick breakfast?',
  'How do I clean a pan?',
];
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i % 997);

/**
 * Appends as many turns as a busy year has, each with the records that the services would write. Every tenth is
 * skipped; of the others the share of praise grows from version to version.
 */
export async function appendTurns(log: EventLog, count: number, shape: TurnsShape = {}): Promise<void> {
  const promptIds = numbers(shape.promptTokens ?? 40);
  const of = { promptIds, lanes: shape.lanes ?? 50 };
  const chunk = Math.max(1, Math.round((CHUNK * 40) / Math.max(40, promptIds.length)));
  for (let from = 0; from < count; from += chunk) {
    const events: ClawLoopEvent[] = [];
    for (let n = from; n < Math.min(count, from + chunk); n++) events.push(...turn(n, of));
    await log.append(events);
  }
}

type Shaped = { readonly promptIds: readonly number[]; readonly lanes: number };

function turn(n: number, { promptIds, lanes }: Shaped): readonly ClawLoopEvent[] {
  const time = new Date(first + n * PACE_MS).toISOString();
  const id = `chatcmpl-${String(n).padStart(6, '0')}`;
  const lane = (Math.floor(n / SESSION) % lanes).toString(16).padStart(12, '0');
  const session = `session-${Math.floor(n / SESSION)}`;
  const version = Math.floor(n / BATCH);
  const key = `key-${Math.floor(n / SESSION) % 5}`;
  const on = { lane, key, adapter: 'default', version };
  const messages = [{ role: 'user' as const, content: `${questions[n % 3]} Number ${n}.` }];
  const answer = { role: 'assistant' as const, content: `Here is what to do, in ${n % 7} steps: `.repeat(4) };
  const tokens = {
    promptIds,
    responseIds: numbers(60),
    logProbs: numbers(60).map((value) => -value / 997),
    effectiveTemperature: 1,
    greedy: false,
    filters: { topP: 1, topK: 0 },
  };
  const create = (data: object) => ({ time, source, data: data as never });
  const interaction = InteractionCompleted.create({
    id,
    ...create({
      interactionId: id,
      requestId: id,
      api: 'chat',
      ...on,
      live: true,
      settle: 'votes',
      model: 'clawloop',
      messages,
      answer,
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 100 },
      tokens,
      engine: 'local',
      finishReason: 'stop',
      disconnected: false,
      timing: { startedAt: time, firstTokenMs: 10, totalMs: 100 },
      usage: { promptTokens: promptIds.length, completionTokens: 60 },
    }),
  });
  if (n % 10 === 9)
    return [
      interaction,
      TurnSkipped.create({
        id: `${id}/skipped`,
        ...create({ turnId: id, lane, session, reason: 'side', rule: 'title', by: id }),
      }),
    ];
  const isGood = (n * 7919) % 100 < 40 + Math.min(40, version / 25);
  const vote = isGood ? 1 : -1;
  const next = [
    { role: 'user' as const, content: isGood ? 'Great, thank you!' : 'Too long. No lists, please.' },
  ];
  const hints = isGood ? [] : ['No lists, please.'];
  const turnId = id;
  return [
    interaction,
    TurnCompleted.create({
      id: `${id}/completed`,
      ...create({
        turnId,
        ...on,
        session,
        epoch: session,
        settle: 'votes',
        rule: 'conversation',
        sessionBy: 'history',
        messages,
        answer,
        tokens,
        next,
        from: null,
        by: id,
      }),
    }),
    VoteCast.create({
      id: `${id}/vote/0`,
      ...create({
        turnId,
        lane,
        index: 0,
        vote,
        text: 'ear',
        judge: 'ear',
        cost: { promptTokens: 0, completionTokens: 0, milliseconds: 1 },
      }),
    }),
    JudgmentReached.create({
      id: `${id}/judgment`,
      ...create({
        turnId,
        lane,
        score: vote,
        mean: vote,
        votes: [vote],
        needs: 1,
        hints,
        source: 'votes',
        by: `${id}/vote/0`,
      }),
    }),
    SampleReady.create({
      id: `${id}/ready`,
      ...create({
        sampleId: id,
        adapter: 'default',
        lane,
        key,
        session,
        epoch: session,
        version,
        verdict: vote,
        source: 'votes',
        soft: false,
        hints,
        messages,
        tokens,
      }),
    }),
    ...(n % BATCH === BATCH - 2 ? step(version + 1, n, time) : []),
  ];
}

/** The batch of the latest samples, and the version that it makes. */
function step(n: number, latest: number, time: string): readonly ClawLoopEvent[] {
  const batchId = `default/batch/${n}`;
  const samples = Array.from({ length: BATCH - 1 }, (_, i) => latest - i)
    .filter((index) => index >= 0 && index % 10 !== 9)
    .map((index) => ({
      sampleId: `chatcmpl-${String(index).padStart(6, '0')}`,
      at: { partition: 0, offset: index },
    }));
  const { settings } = defaultTrainingSettings('claw-nano');
  const made = { batchId, adapter: 'default', checkpoint: `${n}-x`, digest: 'd' };
  const create = (data: object) => ({ time, source, data: data as never });
  return [
    BatchSubmitted.create({
      id: batchId,
      ...create({
        batchId,
        adapter: 'default',
        n,
        parent: n - 1,
        size: samples.length,
        maxStaleness: 8,
        samples,
        settings,
        seed: n,
      }),
    }),
    PolicyTrained.create({
      id: `${batchId}/trained`,
      ...create({
        ...made,
        version: n,
        parent: n - 1,
        metrics: { loss: 0.1, meanKl: 0.01, klToBase: 0.02 },
        fingerprint: 'test',
        milliseconds: 1_000,
      }),
    }),
    PolicyPromoted.create({ id: `${batchId}/promoted`, ...create({ ...made, from: n - 1, to: n }) }),
  ];
}
