import { seedOf } from '../../../services/cli/audit/batch-check.ts';
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
import { batchDigest, sampleDigest, samplesDigest } from '../../../shared/lineage/batch-digest.ts';
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
 * skipped; of the others the share of praise grows from version to version. In an empty log, a multiple of ten turns
 * passes the audit.
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

const timeOf = (n: number) => new Date(first + n * PACE_MS).toISOString();
const idOf = (n: number) => `chatcmpl-${String(n).padStart(6, '0')}`;
const versionOf = (n: number) => Math.floor(n / BATCH);
const isGood = (n: number) => (n * 7919) % 100 < 40 + Math.min(40, versionOf(n) / 25);
const hintsOf = (n: number) => (isGood(n) ? [] : ['No lists, please.']);

/** The words after turn n - 1, then the next question. */
function messagesOf(n: number) {
  const isFirst = n % SESSION === 0;
  const reaction = isFirst ? '' : isGood(n - 1) ? 'Great, thank you! ' : 'Too long. No lists, please. ';
  return [{ role: 'user' as const, content: `${reaction}${questions[n % 3]} Number ${n}.` }];
}

function placeOf(n: number, lanes: number) {
  const number = Math.floor(n / SESSION);
  return {
    lane: (number % lanes).toString(16).padStart(12, '0'),
    key: `key-${number % 5}`,
    adapter: 'default',
    version: versionOf(n),
    session: `session-${number}`,
    epoch: idOf(number * SESSION),
  };
}

const tokensOf = (promptIds: readonly number[]) => ({
  promptIds,
  responseIds: numbers(60),
  logProbs: numbers(60).map((value) => -value / 997),
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
});

const create = (n: number, data: object) => ({ time: timeOf(n), source, data: data as never });

const readyOf = (n: number, { promptIds, lanes }: Shaped) =>
  SampleReady.create({
    id: `${idOf(n)}/ready`,
    ...create(n + 1, {
      sampleId: idOf(n),
      ...placeOf(n, lanes),
      verdict: isGood(n) ? 1 : -1,
      source: 'votes',
      soft: false,
      hints: hintsOf(n),
      messages: messagesOf(n),
      tokens: tokensOf(promptIds),
    }),
  });

function turn(n: number, of: Shaped): readonly ClawLoopEvent[] {
  const { promptIds, lanes } = of;
  const id = idOf(n);
  const { session, epoch, ...on } = placeOf(n, lanes);
  const messages = messagesOf(n);
  const answer = { role: 'assistant' as const, content: `Here is what to do, in ${n % 7} steps: `.repeat(4) };
  const tokens = tokensOf(promptIds);
  const interaction = InteractionCompleted.create({
    id,
    ...create(n, {
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
      timing: { startedAt: timeOf(n), firstTokenMs: 10, totalMs: 100 },
      usage: { promptTokens: promptIds.length, completionTokens: 60 },
    }),
  });
  if (n % 10 === 9)
    return [
      interaction,
      TurnSkipped.create({
        id: `${id}/skipped`,
        ...create(n, { turnId: id, lane: on.lane, session, reason: 'side', rule: 'title', by: id }),
      }),
    ];
  const vote = isGood(n) ? 1 : -1;
  const hints = hintsOf(n);
  const turnId = id;
  return [
    interaction,
    TurnCompleted.create({
      id: `${id}/completed`,
      ...create(n + 1, {
        turnId,
        ...on,
        session,
        epoch,
        settle: 'votes',
        rule: 'conversation',
        sessionBy: 'history',
        messages,
        answer,
        tokens,
        next: messagesOf(n + 1),
        from: idOf(n + 1),
        by: idOf(n + 1),
      }),
    }),
    VoteCast.create({
      id: `${id}/vote/0`,
      ...create(n + 1, {
        turnId,
        lane: on.lane,
        index: 0,
        vote,
        text: 'ear',
        ...(hints.length > 0 ? { hint: hints[0] } : {}),
        judge: 'ear',
        cost: { promptTokens: 0, completionTokens: 0, milliseconds: 1 },
      }),
    }),
    JudgmentReached.create({
      id: `${id}/judgment`,
      ...create(n + 1, {
        turnId,
        lane: on.lane,
        score: vote,
        mean: vote,
        votes: [vote],
        needs: 1,
        hints,
        source: 'votes',
        by: `${id}/vote/0`,
      }),
    }),
    readyOf(n, of),
    ...(n % BATCH === BATCH - 2 ? step(n, of) : []),
  ];
}

/** Offset of the sample of turn n in an empty log: after those before it and the three events of each step. */
const offsetOf = (n: number) => n - Math.floor(n / 10) + 3 * Math.floor((n + 1) / BATCH);

/** The batch of the latest samples, and the version that it makes. */
function step(latest: number, of: Shaped): readonly ClawLoopEvent[] {
  const n = versionOf(latest) + 1;
  const batchId = `default/batch/${n}`;
  const turns = Array.from({ length: BATCH - 1 }, (_, i) => latest - i).filter((index) => index % 10 !== 9);
  const { settings } = defaultTrainingSettings('claw-nano');
  const made = { batchId, adapter: 'default', checkpoint: `${n}-x`, digest: 'd' };
  const batch = BatchSubmitted.create({
    id: batchId,
    ...create(latest, {
      batchId,
      adapter: 'default',
      n,
      parent: n - 1,
      size: turns.length,
      maxStaleness: 8,
      samples: turns.map((index) => ({
        sampleId: idOf(index),
        at: { partition: 0, offset: offsetOf(index) },
      })),
      settings,
      seed: seedOf('default', n),
    }),
  });
  return [
    batch,
    PolicyTrained.create({
      id: `${batchId}/trained`,
      ...create(latest, {
        ...made,
        version: n,
        parent: n - 1,
        batchDigest: batchDigest(batch.data),
        samplesDigest: samplesDigest(turns.map((index) => sampleDigest(readyOf(index, of).data))),
        metrics: { loss: 0.1, meanKl: 0.01, klToBase: 0.02 },
        fingerprint: 'test',
        milliseconds: 1_000,
      }),
    }),
    PolicyPromoted.create({
      id: `${batchId}/promoted`,
      ...create(latest, { ...made, from: n - 1, to: n }),
    }),
  ];
}
