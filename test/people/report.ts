import { mean } from '../bench/learning/report.ts';
import type { Hearing } from './hearing.ts';
import type { PersonReport } from './run-person.ts';

/** A line of the results. Lines of another `protocol` do not count. */
export type Line = PersonReport & { readonly protocol: string; readonly through: 'http' | 'process' };

const heardHead = [
  'person',
  'seeds',
  'complaints',
  'heard as bad',
  'heard as good',
  'what is called bad is',
  'hints found',
  'praise',
  'heard as good',
  'what is called good is',
];
const learnedHead = [
  'person',
  'until three in a row',
  'held-out, start',
  'end',
  'least seed',
  'control',
  'on topic, start',
  'of those that meet it',
  'end',
  'least look',
  'looked again, start',
  'least',
  'distinct, start',
  'end',
  'characters, start',
  'end',
  'wish in the request met, start',
  'end',
  'KL to base',
  'versions',
  'rejected',
];

/** Markdown tables of recognised reactions and of learning, by person, with the control of each seed. */
export function peopleTables(lines: readonly Line[]): string {
  const names = [...new Set(lines.map(({ person }) => person))];
  const groups = names.flatMap((name) => {
    const own = lines.filter(({ person }) => person === name).sort((a, b) => a.seed - b.seed);
    const learned = own.filter(({ learning }) => learning);
    const controls = own.filter(({ learning }) => !learning);
    return learned.length === 0 ? [] : [{ name, learned, controls }];
  });
  const heard = groups.map(({ name, learned }) => [name, String(learned.length), ...heardOf(learned)]);
  const changed = groups.map(({ name, learned, controls }) => [name, ...learnedOf(learned, controls)]);
  return `${table(heardHead, heard)}\n\n${table(learnedHead, changed)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const ruler = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function heardOf(learned: readonly Line[]): readonly string[] {
  const heard = sum(learned.map(({ hearing }) => hearing));
  return [
    String(heard.complaints),
    part(heard.badAsBad, heard.complaints),
    part(heard.badAsGood, heard.complaints),
    part(heard.badAsBad, heard.calledBad),
    part(heard.hints, heard.wishes),
    String(heard.praise),
    part(heard.goodAsGood, heard.praise),
    part(heard.goodAsGood, heard.calledGood),
  ];
}

function learnedOf(learned: readonly Line[], controls: readonly Line[]): readonly string[] {
  const of = (number: (line: Line) => number, lines = learned) => percent(mean(lines.map(number)));
  const least = (number: (line: Line) => number) => percent(Math.min(...learned.map(number)));
  const characters = (state: 'start' | 'end') =>
    String(Math.round(mean(learned.map((line) => line[state].length))));
  const drifts = learned.flatMap(({ klToBase }) => (klToBase === null ? [] : [klToBase]));
  const leastAgain = learned.flatMap(({ again }) => again.leastOnTopic ?? []);
  const total = (number: (line: Line) => number) =>
    String(learned.reduce((all, one) => all + number(one), 0));
  return [
    learned.map(({ untilMet }) => untilMet.map((one) => one ?? '-').join(' ')).join(', '),
    of(({ start }) => start.met),
    of(({ end }) => end.met),
    least(({ end }) => end.met),
    controls.length === 0 ? '-' : of(({ end }) => end.met, controls),
    of(({ start }) => start.onTopic),
    of(({ start }) => start.onTopicWhenMet ?? start.onTopic),
    of(({ end }) => end.onTopic),
    least(({ leastOnTopic }) => leastOnTopic),
    of(({ again }) => again.start),
    leastAgain.length === 0 ? '-' : percent(Math.min(...leastAgain)),
    of(({ start }) => start.distinct),
    of(({ end }) => end.distinct),
    characters('start'),
    characters('end'),
    of(({ steered }) => steered[0]),
    of(({ steered }) => steered[1]),
    drifts.length === 0 ? '-' : mean(drifts).toFixed(3),
    total(({ versions }) => versions),
    total(({ rejected }) => rejected),
  ];
}

const sum = (all: readonly Hearing[]): Hearing =>
  all.reduce((one, other) => {
    const keys = Object.keys(one) as (keyof Hearing)[];
    return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as Hearing;
  });

const part = (count: number, of: number) => (of === 0 ? '-' : percent(count / of));
const percent = (share: number) => `${Math.round(100 * share)} %`;

/** The result of a finished run, in one line. */
export const oneLine = ({ hearing, start, end, ...line }: PersonReport): string =>
  `${nameOf(line)}: heard ${hearing.badAsBad} of ${hearing.complaints} complaints (${hearing.badAsGood} as praise), ` +
  `${hearing.goodAsGood} of ${hearing.praise} praise, ${hearing.hints} of ${hearing.wishes} hints; held-out ` +
  `${start.met.toFixed(2)} -> ${end.met.toFixed(2)}, on topic ${start.onTopic.toFixed(2)} -> ${end.onTopic.toFixed(2)}, ` +
  `distinct ${end.distinct.toFixed(2)}, KL ${line.klToBase?.toFixed(3) ?? '-'}; three in a row after ` +
  `${line.untilMet.map((one) => one ?? '-').join(', ')}; ${line.versions} versions, ${line.rejected} rejected; ${line.seconds} s`;

export const nameOf = ({ person, seed, learning }: Pick<Line, 'person' | 'seed' | 'learning'>): string =>
  `${person}, seed ${seed}${learning ? '' : ', control'}`;
