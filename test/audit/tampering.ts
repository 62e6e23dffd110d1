import type { Audited } from '../../services/cli/audit/audited.ts';
import { parseEvent } from '../../shared/events/parse-event.ts';

/** One way to tamper with one record of a log. */
export type Tampering = {
  readonly kind: 'remove' | 'edit' | 'swap' | 'double';
  readonly type: Audited['event']['type'];
  /** of an edit: where in the event, array indices left out */
  readonly field: string;
  readonly record: Audited;
  readonly log: readonly Audited[];
};

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Path = readonly (string | number)[];

/** The log without each record in turn; the places of the others stay. */
export const removals = (log: readonly Audited[]): readonly Tampering[] =>
  log.map((record, index) => ({
    kind: 'remove',
    type: record.event.type,
    field: '',
    record,
    log: log.toSpliced(index, 1),
  }));

/** The log with each record standing twice, the copy at once behind it. */
export const doubles = (log: readonly Audited[]): readonly Tampering[] =>
  log.map((record, index) => ({
    kind: 'double',
    type: record.event.type,
    field: '',
    record,
    log: log.toSpliced(index + 1, 0, record),
  }));

/** The log with each two neighbours of a partition in each other's place. */
export const swaps = (log: readonly Audited[]): readonly Tampering[] =>
  log.flatMap((record, index): readonly Tampering[] => {
    const next = log.findIndex(
      ({ topic, at }) =>
        topic === record.topic && at.partition === record.at.partition && at.offset === record.at.offset + 1,
    );
    if (next < 0) return [];
    const other = log[next]!;
    const swapped = log.with(index, { ...other, at: record.at }).with(next, { ...record, at: other.at });
    return [{ kind: 'swap', type: record.event.type, field: '', record, log: swapped }];
  });

/**
 * The log with each field of each record changed to another value that its schema allows: one that another
 * record has there, or one near its own; and without each field that may be left out. Of a long list the first
 * and the last element are changed.
 */
export function* edits(log: readonly Audited[]): Generator<Tampering> {
  const seen = new Map<string, Set<Json>>();
  for (const { event } of log)
    for (const [path, value] of leaves(event as unknown as Json)) {
      const name = `${event.type} ${fieldOf(path)}`;
      const values = seen.get(name) ?? new Set();
      seen.set(name, values.add(value));
    }
  for (const [index, record] of log.entries()) {
    const { event } = record;
    for (const [path, value] of leaves(event as unknown as Json)) {
      if (!isEdited(path)) continue;
      const field = fieldOf(path);
      const others = [...(seen.get(`${event.type} ${field}`) ?? [])].slice(0, 20);
      for (const changed of [
        firstValid(event, path, [...near(value), ...others], value),
        firstValid(event, path, [undefined], value),
      ]) {
        if (changed === undefined) continue;
        const edited = { ...record, event: changed };
        yield { kind: 'edit', type: event.type, field, record, log: log.with(index, edited) };
      }
    }
  }
}

const ENVELOPE = ['id', 'subject', 'time'];
const isEdited = ([first]: Path): boolean => first === 'data' || ENVELOPE.includes(first as string);
const fieldOf = (path: Path): string => path.filter((part) => typeof part === 'string').join('.');

function* leaves(value: Json, path: Path = []): Generator<readonly [Path, Json]> {
  if (value === null || typeof value !== 'object') yield [path, value];
  else if (Array.isArray(value)) {
    for (const [index, one] of (value as readonly Json[]).entries())
      if (index === 0 || index === value.length - 1) yield* leaves(one, [...path, index]);
  } else for (const [name, one] of Object.entries(value)) yield* leaves(one, [...path, name]);
}

const near = (value: Json): readonly Json[] => {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number')
    return value === 1 ? [-1, 2, 0] : value === -1 ? [1, 0] : [value + 1, value - 1, value / 2];
  return typeof value === 'string'
    ? [`${value}x`, new Date(Date.parse(value) + 1000 || 0).toISOString()]
    : [];
};

/** The event with the first of these values that its schema allows there, and that is not the old one. */
function firstValid(
  event: Audited['event'],
  path: Path,
  values: readonly (Json | undefined)[],
  old: Json,
): Audited['event'] | undefined {
  for (const value of values) {
    if (value === old) continue;
    const parsed = parseEvent(JSON.stringify(withValue(event as unknown as Json, path, value)));
    if (parsed.kind === 'event' && JSON.stringify(parsed.event) !== JSON.stringify(event))
      return parsed.event;
  }
  return undefined;
}

function withValue(into: Json, [first, ...rest]: Path, value: Json | undefined): Json | undefined {
  if (first === undefined) return value;
  const part = (into as Record<string | number, Json>)[first]!;
  const changed = withValue(part, rest, value);
  if (Array.isArray(into))
    return changed === undefined ? into.toSpliced(first as number, 1) : into.with(first as number, changed);
  const others = Object.fromEntries(Object.entries(into as object).filter(([name]) => name !== first));
  if (changed === undefined) return others;
  return Object.fromEntries(
    Object.entries(into as object).map(([name, one]) => [name, name === first ? changed : one]),
  );
}

const OF_ANSWERS = [
  'tokens',
  'messages',
  'tools',
  'templateInput',
  'version',
  'adapter',
  'settle',
  'lane',
  'key',
];

/** Fields that a step computes with, or that decide what it computes with; undefined: every field of the data. */
const training: Readonly<Partial<Record<Audited['event']['type'], readonly string[] | undefined>>> = {
  'interaction.completed': [...OF_ANSWERS, 'answer', 'interactionId'],
  'turn.completed': [...OF_ANSWERS, 'answer', 'turnId', 'session', 'epoch'],
  'vote.cast': ['vote', 'hint', 'index', 'turnId'],
  'hint.cast': ['hint', 'index', 'turnId'],
  'feedback.given': ['score', 'advantage', 'interactionId'],
  'turn.feedback': ['score', 'advantage', 'turnId', 'given', 'return'],
  'judgment.reached': ['score', 'mean', 'votes', 'hints', 'source', 'advantage', 'turnId'],
  'sample.ready': undefined,
  'batch.submitted': undefined,
  'policy.trained': [
    'batchId',
    'version',
    'parent',
    'checkpoint',
    'digest',
    'batchDigest',
    'samplesDigest',
    'adapter',
  ],
  'policy.promoted': undefined,
};

/** Whether an edit changes what some version of the log was trained from, or which version is served. */
export function reachesTraining(
  { type, field, record }: Tampering,
  trainedTurns: ReadonlySet<string>,
): boolean {
  if (!(type in training) || !field.startsWith('data.')) return false;
  const fields = training[type];
  const name = field.split('.')[1]!;
  if (fields !== undefined && !fields.includes(name)) return false;
  const data = record.event.data as Readonly<Record<string, unknown>>;
  const about = data.turnId ?? data.sampleId ?? data.interactionId;
  return about === undefined || trainedTurns.has(about as string);
}
