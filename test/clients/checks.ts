import type { Observed, Turn } from './observe.ts';
import { answers, type Step, said } from './steps.ts';

/** The checks of every program, by the name of their tests. Each returns its violations; none: it passes. */
export const checks = {
  'every answer reaches the person, and no error': (seen) => [
    ...(seen.played.failure === undefined ? [] : [`the program: ${seen.played.failure}`]),
    ...seen.exchanges.flatMap(({ method, path, status, error }) =>
      error === undefined || method !== 'POST' ? [] : [`${method} ${path}: ${status} ${error}`],
    ),
    ...wholeSteps.flatMap((step) =>
      plain(seen.played.shown[step]).includes(answers[step]) ? [] : [`${step}: the answer is not shown`],
    ),
  ],
  'the turns of the conversation are main, and the next words follow them': (seen) =>
    different(
      expectedTurns(seen.client),
      conversation(seen).map(({ step, turn }) => [step, placeOf(turn)]),
    ),
  "the next state of an answer contains only the person's words": (seen) => {
    const spoken = conversation(seen).flatMap(({ turn }) => turn?.reaction || []);
    const words: readonly string[] = Object.values(said);
    if (spoken.length === 0) return ['nothing was said after any answer'];
    return spoken.filter((one) => !words.includes(plain(one))).map((one) => `then: ${one}`);
  },
  'it is one session': (seen) => {
    const turns = conversation(seen).flatMap(({ turn }) => turn ?? []);
    const sessions = [...new Set(turns.map(({ session }) => session).filter(Boolean))];
    const elsewhere = turns.filter(({ turnId }) => !seen.session.includes(turnId));
    return sessions.length === 1 ? [] : [`${sessions.length} sessions`, ...elsewhere.map(lineOf)];
  },
  "the program's own requests are side requests": (seen) => {
    const own = seen.replies.filter(({ reply }) => reply.kind !== 'conversation');
    const isMissing = seen.played.compacted && !own.some(({ reply }) => reply.kind === 'compaction');
    return [
      ...(isMissing ? ['no summary was asked for'] : []),
      ...own
        .filter(({ turn }) => turn?.stage.reason !== 'side')
        .map(({ reply, turn }) => `${reply.kind}: ${lineOf(turn)}`),
    ];
  },
  'the correction counts against its answer, the praise for it': (seen) => {
    const scores = conversation(seen).map(({ step, turn }) => [step, turn?.score ?? 0] as const);
    const of = (step: Step) => scores.findLast(([one]) => one === step)?.[1] ?? 0;
    return [
      ...(of('tool') < 0 ? [] : [`the answer that was corrected has ${of('tool')}`]),
      ...(of('correction') > 0 ? [] : [`the answer that was praised has ${of('correction')}`]),
    ];
  },
  'samples reach training': (seen) =>
    samplesOf(seen).length > 0 ? [] : ['none', ...conversation(seen).map(({ turn }) => lineOf(turn))],
  'an answer that was stopped does not train': (seen) => {
    const stopped = conversation(seen).filter(({ step }) => step === 'stopped');
    if (stopped.length === 0) return ['none was stopped'];
    return stopped.filter(({ turn }) => turn === undefined || isSample(turn)).map(({ turn }) => lineOf(turn));
  },
  'the audit balances': ({ audit }) => (audit.includes('balances') ? [] : [audit.slice(-1_000)]),
} as const satisfies Readonly<Record<string, (seen: Observed) => readonly string[]>>;

export type CheckName = keyof typeof checks;
export const checkNames = Object.keys(checks) as readonly CheckName[];

/** The steps whose answers are not stopped. */
const wholeSteps = (Object.keys(said) as readonly Step[]).filter((step) => step !== 'stopped');

export const conversation = ({ replies }: Observed) =>
  replies.flatMap(({ reply, turn }) => (reply.step === undefined ? [] : [{ step: reply.step, turn }]));

/** The turns of the main line that became samples. */
export const samplesOf = (seen: Observed): readonly Turn[] =>
  conversation(seen).flatMap(({ turn }) => (turn !== undefined && isSample(turn) ? [turn] : []));

const isSample = ({ stage }: Turn): boolean =>
  ['waiting-for-batch', 'in-batch', 'trained'].includes(stage.kind);

/** Each turn, and the step whose words come next; none after a tool call and at the end. */
const expectedTurns = ({ losesNextOf }: Observed['client']): readonly (readonly [Step, string])[] =>
  wholeTurns.map(([step, place]) => [step, step === losesNextOf ? 'main' : place]);

const wholeTurns: readonly (readonly [Step, string])[] = [
  ['question', 'main, then tool'],
  ['tool', 'main'],
  ['tool', 'main, then correction'],
  ['correction', 'main, then praise'],
  ['praise', 'main, then compacted'],
  ['compacted', 'main, then resumed'],
  ['resumed', 'main, then stopped'],
  ['stopped', 'stopped'],
  ['again', 'main'],
];

function placeOf(turn: Turn | undefined): string {
  if (turn === undefined) return 'not in the log';
  const { stage, reaction } = turn;
  if (stage.reason === 'side') return `side (${turn.rule})`;
  if (stage.reason === 'aborted' || stage.reason === 'disconnected') return 'stopped';
  const next = (Object.keys(said) as Step[]).find((step) => reaction.includes(said[step]));
  return next === undefined ? 'main' : `main, then ${next}`;
}

/** A program without tools has one turn less. */
function different(
  expected: readonly (readonly [Step, string])[],
  found: readonly (readonly [Step, string])[],
): readonly string[] {
  const rounds = found.filter(([step]) => step === 'tool').length;
  const wanted =
    rounds === 1 ? expected.filter(([step, place]) => step !== 'tool' || place !== 'main') : expected;
  return wanted.flatMap(([step, place], at) => {
    const [gotStep, gotPlace] = found[at] ?? [step, 'never asked'];
    return gotStep === step && gotPlace === place ? [] : [`${step}: ${place}; found ${gotStep}: ${gotPlace}`];
  });
}

const plain = (text = ''): string => text.replace(/\s+/g, ' ').trim();

const lineOf = (turn: Turn | undefined): string =>
  turn === undefined
    ? 'not in the log'
    : `${turn.turnId} ${turn.session} ${turn.rule} ${turn.stage.kind} ${turn.stage.reason ?? ''}: ${turn.answered.slice(0, 40)}`;
