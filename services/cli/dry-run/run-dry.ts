import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { excerpt } from '../../../shared/runtime/table.ts';
import { chat } from '../demo/chat.ts';
import { inOrder } from './in-order.ts';
import { type Stage, stageOf } from './stages.ts';
import { type LogWatch, watchLog } from './watch-log.ts';

/** Thrown when a stage gives no usable result; `message` names the stage. */
export class StageFailed extends Error {
  override readonly name = 'StageFailed';
}

type DryRun = {
  readonly url: string;
  readonly log: Pick<EventLog, 'follow'>;
  readonly print: (stage: Stage) => void;
  readonly signal: AbortSignal;
};

/** An answer may be cut off, and such a turn does not train; then the next question is asked. */
const QUESTIONS = [
  'How do I pack for a weekend trip?',
  'What do I eat for a quick breakfast?',
  'How do I tidy my desk?',
];
const REACTION = 'Too long. One sentence, please.';

/**
 * Has one conversation and follows it through every stage, from the request to an answer of the new version.
 * @throws StageFailed when a stage fails
 */
export async function runDry({ log, print, signal, ...run }: DryRun): Promise<void> {
  const end = new AbortController();
  const stages = inOrder(print);
  const watch = watchLog(
    log,
    (event) => {
      const stage = stageOf(event);
      if (stage !== undefined) stages.print(stage);
    },
    AbortSignal.any([signal, end.signal]),
  );
  try {
    await converse({ ...run, print, signal }, watch);
  } finally {
    end.abort();
    await watch.done;
    stages.rest();
  }
}

async function converse({ url, print, signal }: Omit<DryRun, 'log'>, watch: LogWatch): Promise<void> {
  const ask = async (messages: readonly ChatMessage[]) => {
    print({ name: 'request', result: excerpt(String(messages.at(-1)!.content), 80) });
    const answer = await chat(url, 'any', messages, signal);
    if (answer.kind !== 'answer')
      throw new StageFailed(
        `request: ${answer.kind === 'silent' ? answer.reason : `${answer.status} ${answer.message}`}`,
      );
    const { id } = answer.value;
    await watch.next((event): event is Of<'interaction.completed'> => event.id === id);
    return answer.value;
  };
  const sampleOf = async (question: string) => {
    const first: ChatMessage = { role: 'user', content: question };
    const { id, text } = await ask([first]);
    await ask([first, { role: 'assistant', content: text }, { role: 'user', content: REACTION }]);
    return watch.next((event) => isOutcome(event, id));
  };
  let outcome: ClawLoopEvent | undefined;
  for (const question of QUESTIONS) {
    outcome = await sampleOf(question);
    if (outcome.type === 'sample.ready') break;
  }
  if (outcome?.type !== 'sample.ready')
    throw new StageFailed('turn: no answer became a sample; see docs/use/where-did-my-turn-go.md');
  const gate = await watch.next(isGate);
  if (gate.type === 'policy.update-failed')
    throw new StageFailed(`step: ${gate.data.reason}: ${gate.data.detail}`);
  if (gate.type === 'policy.rejected') return;
  const loaded = await watch.next((event) => isLoaded(event, gate.data.to));
  const { version } = await ask([{ role: 'user', content: QUESTIONS[0]! }]);
  if (version !== undefined && version < loaded.data.version)
    throw new StageFailed(`loaded: v${version} answers although v${loaded.data.version} is loaded`);
}

type Of<Type extends ClawLoopEvent['type']> = Extract<ClawLoopEvent, { type: Type }>;

const isOutcome = (
  event: ClawLoopEvent,
  turnId: string,
): event is Of<'sample.ready' | 'sample.dropped' | 'turn.skipped'> =>
  event.type === 'turn.skipped'
    ? event.data.turnId === turnId
    : (event.type === 'sample.ready' || event.type === 'sample.dropped') && event.data.sampleId === turnId;

const isGate = (
  event: ClawLoopEvent,
): event is Of<'policy.promoted' | 'policy.rejected' | 'policy.update-failed'> =>
  ['policy.promoted', 'policy.rejected', 'policy.update-failed'].includes(event.type);

const isLoaded = (event: ClawLoopEvent, version: number): event is Of<'policy.loaded'> =>
  event.type === 'policy.loaded' && event.data.version === version;
