import { defined } from '../../../shared/lang/defined.ts';
import type { LoadCase } from './case.ts';
import type { Taken } from './generator.ts';

/** The results of one server in one round of a case. `processorMs`: processor time of all its threads. */
export type Round = Taken & { readonly processorMs: number };
export type Rounds = readonly Round[];
export type MeasuredCase = { readonly asked: LoadCase; readonly peer: Rounds; readonly serving: Rounds };

/** Number of facts in the log and of given answers, which are equal. */
export type Recorded = { readonly facts: number; readonly answers: number };

export type Circumstances = {
  readonly machine: string;
  /** Of the machine's last minute, at the begin and at the end. */
  readonly load: readonly [number, number];
  readonly minutes: number;
  readonly recorded: Recorded;
};

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN;
const median = (values: readonly number[]): number => quantile(values, 0.5);
const rate = ({ answers, seconds }: Taken): number => answers / seconds;

export type LoadFigures = {
  readonly peerRate: number;
  readonly servingRate: number;
  /** of the rates: the median over the rounds, each of which measures both */
  readonly ratio: number;
  /** ms of the processor per request, of all rounds */
  readonly processorMs: { readonly peer: number; readonly serving: number };
  readonly peerMs: number;
  readonly addedP50: number;
  readonly addedP99: number;
  /** ms from the engine's first token to the client's: p50 and p99; absent: not streamed */
  readonly firstToken?: { readonly peer: readonly number[]; readonly serving: readonly number[] };
};

export function figuresOf({ asked, peer, serving }: MeasuredCase): LoadFigures {
  const latencies = (rounds: Rounds) => rounds.flatMap((taken) => taken.latencies);
  const firsts = (rounds: Rounds) => {
    const all = rounds.flatMap((taken) => taken.firstTokens);
    return [median(all), quantile(all, 0.99)];
  };
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const processorMs = (rounds: Rounds) =>
    sum(rounds.map((round) => round.processorMs)) / sum(rounds.map(({ answers }) => answers));
  const added = (share: number) => quantile(latencies(serving), share) - quantile(latencies(peer), share);
  return {
    peerRate: median(peer.map(rate)),
    servingRate: median(serving.map(rate)),
    ratio: median(serving.map((taken, round) => rate(taken) / rate(peer[round]!))),
    processorMs: { peer: processorMs(peer), serving: processorMs(serving) },
    peerMs: median(latencies(peer)),
    addedP50: added(0.5),
    addedP99: added(0.99),
    ...defined({ firstToken: asked.stream ? { peer: firsts(peer), serving: firsts(serving) } : undefined }),
  };
}

const figure = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en-US');
const two = (values: readonly number[] | undefined): string => values?.map(figure).join(' / ') ?? '';
const sizes = { small: '300 bytes', large: '104 KB' } as const;

const columns = [
  'body',
  'answer',
  'at once',
  'pass-through, req/s',
  'serving, req/s',
  'ratio',
  'processor ms a request: pass-through / serving',
  'pass-through, p50 ms',
  'added p50',
  'added p99',
  'first token beyond the engine, p50 / p99 ms: pass-through',
  'serving',
] as const;

export function cellsOf(measured: MeasuredCase): readonly string[] {
  const { asked } = measured;
  const figures = figuresOf(measured);
  const paced = asked.pace.tokenMs > 0;
  return [
    sizes[asked.size],
    paced
      ? `streamed, ${asked.pace.tokens} tokens, one in ${asked.pace.tokenMs} ms`
      : asked.stream
        ? 'streamed'
        : 'JSON',
    String(asked.atOnce),
    figure(figures.peerRate),
    figure(figures.servingRate),
    figures.ratio.toFixed(2),
    two([figures.processorMs.peer, figures.processorMs.serving]),
    figure(figures.peerMs),
    figures.addedP50.toFixed(2),
    figures.addedP99.toFixed(2),
    two(figures.firstToken?.peer),
    two(figures.firstToken?.serving),
  ];
}

/** For a terminal. */
export function lineOf(measured: MeasuredCase): string {
  const [body, answer, many, peer, serving, ratio, processor, ms, p50, p99, peerFirst, first] =
    cellsOf(measured);
  const firsts = first === '' ? '' : `; first token ${first} (peer ${peerFirst}) ms`;
  return (
    `${body}, ${answer}, ${many} at once: ${serving} of ${peer} req/s (${ratio}); ` +
    `processor ${processor} ms each; added p50 ${p50}, p99 ${p99} to ${ms} ms${firsts}`
  );
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Markdown: the table, and the conditions of the measurement. */
export function loadTable(measured: readonly MeasuredCase[], at: Circumstances): string {
  const [before, after] = at.load.map((load) => load.toFixed(1));
  const { facts, answers } = at.recorded;
  const where =
    `${at.machine}. One run of ${at.minutes.toFixed(0)} minutes; load of the machine ${before} when it began, ` +
    `${after} when it ended. ${answers.toLocaleString('en-US')} answers were given, and the log holds ` +
    `${facts.toLocaleString('en-US')} facts of them.`;
  const table = [row(columns), row(columns.map(() => '---')), ...measured.map((one) => row(cellsOf(one)))];
  return `${where}\n\n${table.join('\n')}`;
}
