import { mean } from '../bench/learning/report.ts';
import type { Hearing } from './hearing.ts';
import type { PersonReport } from './run-person.ts';

/** A line of the results. `protocol`: what it was measured by; lines of another one do not count. */
export type Line = PersonReport & { readonly protocol: string; readonly through: 'http' | 'process' };

const head = [
  ...['person', 'seeds', 'bad: precision', 'recall', 'bad as good', 'good: precision', 'recall', 'hints'],
  ...[
    'until three in a row',
    'held-out, start',
    'end',
    'least',
    'control',
    'on topic, start',
    'end',
    'least',
  ],
  ...['distinct', 'characters, start', 'end', 'KL to base', 'versions', 'rejected'],
];

/** Per person, every seed with its control; in Markdown. */
export function peopleTable(lines: readonly Line[]): string {
  const names = [...new Set(lines.map(({ person }) => person))];
  const rows = names.flatMap((name) => {
    const own = lines.filter(({ person }) => person === name).sort((a, b) => a.seed - b.seed);
    const learned = own.filter(({ learning }) => learning);
    const controls = own.filter(({ learning }) => !learning);
    return learned.length === 0 ? [] : [row(name, learned, controls)];
  });
  const ruler = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function row(name: string, learned: readonly Line[], controls: readonly Line[]): readonly string[] {
  const heard = sum(learned.map(({ hearing }) => hearing));
  const of = (number: (line: Line) => number, lines = learned) => percent(mean(lines.map(number)));
  const drifts = learned.flatMap(({ klToBase }) => (klToBase === null ? [] : [klToBase]));
  const total = (number: (line: Line) => number) =>
    String(learned.reduce((all, one) => all + number(one), 0));
  return [
    name,
    String(learned.length),
    part(heard.badAsBad, heard.calledBad),
    `${part(heard.badAsBad, heard.complaints)} of ${heard.complaints}`,
    String(heard.badAsGood),
    part(heard.goodAsGood, heard.calledGood),
    part(heard.goodAsGood, heard.praise),
    part(heard.hints, heard.wishes),
    learned.map(({ untilMet }) => untilMet.map((one) => one ?? '-').join(' ')).join(', '),
    of(({ start }) => start.met),
    of(({ end }) => end.met),
    percent(Math.min(...learned.map(({ end }) => end.met))),
    controls.length === 0 ? '-' : of(({ end }) => end.met, controls),
    of(({ start }) => start.onTopic),
    of(({ end }) => end.onTopic),
    percent(Math.min(...learned.map(({ leastOnTopic }) => leastOnTopic))),
    `${of(({ end }) => end.distinct)} (${of(({ start }) => start.distinct)})`,
    Math.round(mean(learned.map(({ start }) => start.length))).toString(),
    Math.round(mean(learned.map(({ end }) => end.length))).toString(),
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

/** What a run that just ended came to. */
export const oneLine = ({ hearing, start, end, ...line }: PersonReport): string =>
  `${nameOf(line)}: heard ${hearing.badAsBad} of ${hearing.complaints} complaints (${hearing.badAsGood} as praise), ` +
  `${hearing.goodAsGood} of ${hearing.praise} praise, ${hearing.hints} of ${hearing.wishes} hints; held-out ` +
  `${start.met.toFixed(2)} -> ${end.met.toFixed(2)}, on topic ${start.onTopic.toFixed(2)} -> ${end.onTopic.toFixed(2)}, ` +
  `distinct ${end.distinct.toFixed(2)}, KL ${line.klToBase?.toFixed(3) ?? '-'}; three in a row after ` +
  `${line.untilMet.map((one) => one ?? '-').join(', ')}; ${line.versions} versions, ${line.rejected} rejected; ${line.seconds} s`;

export const nameOf = ({ person, seed, learning }: Pick<Line, 'person' | 'seed' | 'learning'>): string =>
  `${person}, seed ${seed}${learning ? '' : ', control'}`;
