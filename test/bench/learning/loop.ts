import { assemble } from '../../../services/collector/assemble.ts';
import { attribute } from '../../../services/collector/attribute.ts';
import { assembleSettings, attributeSettings, submitSettings } from '../../../services/collector/settings.ts';
import { submit } from '../../../services/collector/submit.ts';
import { judgeFold } from '../../../services/judge/judge-fold.ts';
import { openEarThread } from '../../../services/judge/judges/ear/ear-thread.ts';
import type { Judge } from '../../../services/judge/judges/judge.ts';
import { observationsOn } from '../../../services/judge/reaction.ts';
import { owedVotes } from '../../../services/judge/testing/owed-votes.ts';
import { localTraining } from '../../../services/trainer/local-trainee.ts';
import { type BoundState, outcomeEvents } from '../../../services/trainer/outcome.ts';
import { digestOf } from '../../../services/trainer/read-samples.ts';
import { type Candidate, type StepInput, type StepParent, step } from '../../../services/trainer/step.ts';
import { CollectorConfig } from '../../../shared/config/collector.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { type LearningMethod, recordedTrainingSettings } from '../../../shared/events/training-settings.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { batchDigest } from '../../../shared/lineage/batch-digest.ts';
import { lineage, type OpenBatch } from '../../../shared/lineage/head.ts';
import { headView } from '../../../shared/lineage/head-rows.ts';
import { openDraft } from '../../../shared/log/rows.ts';
import { checkpointDigest } from '../../../shared/policy/checkpoints/state.ts';
import { CLAW_NANO } from '../../../shared/policy/model/model-folder.ts';
import { openMemoryLog, readerOf } from './memory-log.ts';
import type { LearningModel, Reply, Speaker } from './model.ts';

export type Method = LearningMethod | 'none';

const ADAPTER = 'default';
/** Versions whose weights are kept. */
const KEPT = 40;
const LANE = 'lane';
const KEY = 'key';
const source = 'clawloop/bench';

export type LoopOptions = {
  readonly method: Method;
  readonly seed: string;
  /** settings of the collector; missing ones have the default of a deployment */
  readonly settings: Readonly<Record<string, unknown>>;
  /** default: the ear on a thread of its own, which ends with the loop */
  readonly judge?: Judge;
  readonly onEvent?: (event: ClawLoopEvent) => void;
  /** Replaces the candidate of a step before the trainer reports it. */
  readonly replace?: (step: StepInput, candidate: Candidate) => Candidate | Promise<Candidate>;
};

export type Loop = ReturnType<typeof openLoop>;

/**
 * The whole loop for one person in one process and without a clock: the collector's and the judge's folds over a log in
 * memory, the judge `ear`, the trainer's step, serving's sampling. It has no I/O: no HTTP, no queues, no checkpoints on
 * disk. A step takes no time of the chat.
 */
export function openLoop(model: LearningModel, options: LoopOptions) {
  const { method, seed, settings, judge = openEarThread() } = options;
  const config = CollectorConfig.parse({
    ...settings,
    model: CLAW_NANO,
    ...defined({ method: method === 'none' ? undefined : method }),
  });
  const { weakVerdict } = JudgeConfig.parse({});
  const parents = new Map<number, StepParent>();
  const figures = new Map<number, Readonly<Record<string, number>>>();
  const counts: Record<string, number> = {};
  const steps: Pick<Candidate, 'gate' | 'metrics'>[] = [];
  let speaker: Speaker = model.speaker(0, undefined);
  let served = 0;
  let asked = 0;
  const log = openMemoryLog(
    [
      readerOf(attribute, attributeSettings(config)),
      readerOf(judgeFold, { votes: judge.defaultVotes, revises: true, weakVerdict }),
      readerOf(assemble, assembleSettings(config)),
      readerOf(submit, submitSettings(config)),
    ],
    (event) => {
      counts[event.type] = (counts[event.type] ?? 0) + 1;
      options.onEvent?.(event);
    },
  );
  /** One second after the other. */
  const now = () => new Date(Date.UTC(2026, 0, 1) + 1000 * asked).toISOString();
  if (method === 'none')
    log.append([LearningPaused.create({ id: 'control', source, time: now(), data: { adapter: ADAPTER } })]);

  const vote = async (): Promise<void> => {
    for (const { id, data } of owedVotes(LANE, log.rowsOf(judgeFold.name, LANE))) {
      const turn = log.read('turns', data.at) as TurnCompleted;
      const opinion = await judge.vote(turn.data, data.index, new AbortController().signal);
      const { turnId, lane, index } = data;
      const cast = { turnId, lane, index, judge: judge.name, ...observationsOn(turn.data), ...opinion };
      log.append([VoteCast.create({ id, source, time: now(), data: cast })]);
    }
  };

  const train = async (): Promise<boolean> => {
    const batch = headView(openDraft(log.rowsOf(submit.name, ADAPTER))).open;
    if (batch === null) return false;
    const read = ({ at }: Pick<(typeof batch.samples)[number], 'at'>) =>
      (log.read('training', at) as SampleReady).data;
    const [samples, earlier] = [batch.samples.map(read), batch.earlier?.map(read) ?? []];
    const input = { parent: parents.get(batch.parent), batch, samples, earlier };
    const made = await step(localTraining(model.engine), input);
    const result = made.kind === 'candidate' ? ((await options.replace?.(input, made)) ?? made) : made;
    if (result.kind !== 'candidate') log.append(outcomeEvents(batch, result, now()));
    else {
      steps.push({ gate: result.gate, metrics: result.metrics });
      parents.set(batch.n, result);
      figures.set(batch.n, result.metrics);
      const state = stateOf(model, batch, samples, result);
      log.append(outcomeEvents(batch, { kind: 'trained', checkpoint: String(batch.n), state }, now()));
      serveHead();
    }
    return true;
  };

  /** A promotion or a rollback moves the head. */
  const serveHead = (): void => {
    const { head } = headView(openDraft(log.rowsOf(submit.name, ADAPTER)));
    if (head !== served) serve(head);
  };

  const serve = (version: number): void => {
    speaker.dispose();
    speaker = model.speaker(version, parents.get(version)?.adapter);
    served = version;
    // as many as a rollback can reach, and rejected ones between them
    for (const older of parents.keys()) if (older < version - KEPT) parents.delete(older);
  };

  /** Runs until every turn is judged and no batch is open; a person pauses longer than that. */
  const settle = async (): Promise<void> => {
    do {
      await vote();
      serveHead();
    } while (await train());
  };

  const answer = async (messages: readonly ChatMessage[]) => {
    asked += 1;
    const id = `${seed}/${asked}`;
    const [reply] = speaker.ask([{ messages, seed: id }]);
    log.append([interaction(id, now(), messages, reply!)]);
    await vote();
    serveHead();
    return { id, text: reply!.text };
  };

  return {
    served: (): number => served,
    adapter: () => parents.get(served)?.adapter,
    /** figures of each step, in order, with the result of its gate */
    steps: (): readonly Pick<Candidate, 'gate' | 'metrics'>[] => steps,
    /** facts by type */
    counts: (): Readonly<Record<string, number>> => counts,
    digest: (): string | undefined => {
      const parent = parents.get(served);
      return parent && checkpointDigest(parent);
    },
    /** The served version's answers; nothing is collected. */
    ask: (questions: Parameters<Speaker['ask']>[0]) => speaker.ask(questions),
    /** One answer in a conversation, as a client gets it. */
    chat: async (messages: readonly ChatMessage[]): Promise<string> => (await answer(messages)).text,
    /** The same, with the id that feedback names. */
    answer,
    /** A thumb: 1 or -1. */
    rate: (interactionId: string, score: number): void => {
      const data = { interactionId, lane: LANE, key: KEY, score };
      log.append([FeedbackGiven.create({ id: `${interactionId}/rated`, source, time: now(), data })]);
      serveHead();
    },
    /** An operator's command, or another fact from outside. */
    say: (...events: readonly ClawLoopEvent[]): void => {
      log.append(events);
      serveHead();
    },
    /** Versions from this one back to the base. */
    lineage: (version: number): readonly number[] =>
      lineage(headView(openDraft(log.rowsOf(submit.name, ADAPTER))), version),
    /** The figures of the step that made the served version. */
    figures: (): Readonly<Record<string, number>> => figures.get(served) ?? {},
    settle,
    close: async (): Promise<void> => {
      speaker.dispose();
      if (options.judge === undefined) await judge.close?.();
    },
  };
}

/** The event that serving records for a standard client. */
function interaction(id: string, time: string, messages: readonly ChatMessage[], { text, generated }: Reply) {
  const { sampling, tokens, version, finishReason, usage } = generated;
  return InteractionCompleted.create({
    id,
    source,
    time,
    data: {
      interactionId: id,
      requestId: id,
      api: 'chat',
      lane: LANE,
      key: KEY,
      adapter: ADAPTER,
      live: true,

      settle: 'votes',
      model: 'clawloop',
      messages: [...messages],
      answer: { role: 'assistant', content: text },
      sampling,
      tokens,
      version,
      engine: 'local',
      finishReason,
      disconnected: false,
      usage,
      timing: { startedAt: time, firstTokenMs: 0, totalMs: 0 },
    },
  });
}

/** The state of a checkpoint; only version, digest and gate are read here. */
const stateOf = (
  model: LearningModel,
  batch: OpenBatch,
  samples: readonly SampleReady['data'][],
  candidate: Candidate,
): BoundState => ({
  format: 1,
  version: batch.n,
  parent: batch.parent,
  batchId: batch.batchId,
  batchDigest: batchDigest(batch),
  samplesDigest: digestOf(samples),
  adapter: batch.adapter,
  logId: 'memory',
  model: CLAW_NANO,
  baseDigest: CLAW_NANO,
  settings: recordedTrainingSettings.parse(batch.settings),
  seed: batch.seed,
  samples: batch.samples.length,
  baseline: candidate.baseline,
  optimizerStep: candidate.optimizer.step,
  gate: candidate.gate,
  metrics: candidate.metrics,
  fingerprint: model.fingerprint,
  milliseconds: 0,
  digest: checkpointDigest(candidate),
});
