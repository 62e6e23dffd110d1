import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Topic } from '../events/define-event.ts';
import type { Position } from '../events/position.ts';
import { readErasures } from './erasures.ts';
import type { CommittedPartition, EventLog, SubjectView } from './event-log.ts';
import {
  comparable,
  digestOf,
  factKey,
  placeOf,
  readFacts,
  readSetAside,
  type StandingFact,
  type StandingFacts,
} from './facts-of-log.ts';
import type { Fold } from './fold.ts';
import { type RebuiltPartition, rebuild } from './rebuild.ts';
import { rowsOfOtherVersion, rowsVersionOf } from './row-versions.ts';
import { stableJson } from './stable-json.ts';

export type AuditedFold = {
  readonly group: string;
  readonly fold: Fold<unknown>;
  /** Types of facts that come from this fold, or from another fold of the same audit. */
  readonly decides: readonly ClawLoopEvent['type'][];
  /** Types among them that others write, too: facts from another source are left out. */
  readonly shared?: {
    readonly types: readonly ClawLoopEvent['type'][];
    /** `source` of the facts that come from this fold */
    readonly source: string;
  };
};

export type FoldReport = {
  readonly group: string;
  readonly records: number;
  /** records skipped because the fold rejected them */
  readonly setAside: number;
  readonly facts: number;
  readonly rows: number;
  readonly differences: readonly string[];
  /** why the fold cannot be compared */
  readonly unknown: readonly string[];
};

type MissingFact = { readonly key: string; readonly digest: string; readonly says: string };

/** A fact from the rebuild, and the position of the input record that caused it. */
type RebuiltFact = { readonly event: ClawLoopEvent; readonly cause: Position };

/**
 * Folds everything again from the first record, and compares the facts and the rows of each group with those
 * in the log. Reads only; the services may keep running. A difference names ids, positions and fields, never
 * values.
 * @throws NewerSchema, LogUnavailable
 * @param onFolded called after each record with the number of records of the group folded so far
 */
export async function deepAudit(
  log: EventLog,
  folds: readonly AuditedFold[],
  onFolded: (group: string, records: number) => void = () => undefined,
): Promise<readonly FoldReport[]> {
  // Read the facts before any position, so that the rebuild folds the record that caused each fact.
  const standing = await readAllFacts(log, folds);
  const matched = new Set<StandingFact>();
  const reports: FoldReport[] = [];
  const missing = new Map<AuditedFold, readonly MissingFact[]>();
  for (const audited of folds) {
    const again = await foldAgain(log, audited, (records) => onFolded(audited.group, records));
    const { facts, report } = again;
    const compared = await compareFacts(log, audited, { facts, standing, matched });
    missing.set(audited, compared.missing);
    reports.push({ ...report, differences: [...compared.differences, ...report.differences] });
  }

  // Read again: facts that were committed after the first reading are not missing.
  const isMissing = [...missing.values()].some((facts) => facts.length > 0);
  const now = isMissing ? await readAllFacts(log, folds) : standing;
  const blind = new Set(
    folds.flatMap(({ decides }, index) => (reports[index]!.unknown.length > 0 ? decides : [])),
  );
  const claimed = new Set<string>(blind);
  const erasures = await readErasures(log);
  const again = folds.map((audited, index) => {
    const gone = missing.get(audited)!.filter(({ key, digest }) => !stands(now, standing, key, digest));
    const types = new Set(audited.decides.filter((type) => !claimed.has(type)));
    for (const type of types) claimed.add(type);
    const report = reports[index]!;
    const differences = [
      ...report.differences,
      ...gone.map(({ says }) => says),
      ...unmatched(standing, matched, types),
    ];
    return { ...report, differences };
  });
  return erasures.length === 0 ? again : again.map(undecidedSince(erasures.map(({ time }) => time)));
}

/** What was decided by words cannot be decided again without them. */
const undecidedSince =
  (times: readonly string[]) =>
  (report: FoldReport): FoldReport => {
    const { length } = report.differences;
    if (length === 0) return report;
    const why = `${length} differences, which may come from the erasure of ${times.join(', ')}`;
    return { ...report, differences: [], unknown: [...report.unknown, why] };
  };

async function readAllFacts(log: EventLog, folds: readonly AuditedFold[]): Promise<StandingFacts> {
  const all = new Map<string, readonly StandingFact[]>();
  for (const [topic, of] of Map.groupBy(folds, ({ fold }) => fold.writes)) {
    const types = new Set(of.flatMap(({ decides }) => decides));
    if (types.size === 0) continue;
    const isForeign = ({ type, source }: ClawLoopEvent) =>
      of.some(({ shared }) => shared?.types.includes(type) && shared.source !== source);
    for (const [key, facts] of await readFacts(log, topic, types, isForeign)) all.set(key, facts);
  }
  return all;
}

/** Whether the fact was appended after the first reading. */
const stands = (now: StandingFacts, before: StandingFacts, key: string, digest: string): boolean =>
  now !== before &&
  (now.get(key)?.length ?? 0) > (before.get(key)?.length ?? 0) &&
  now.get(key)!.some((fact) => fact.digest === digest);

async function foldAgain(
  log: EventLog,
  { group, fold, decides }: AuditedFold,
  onFolded: (records: number) => void,
): Promise<{ readonly facts: readonly RebuiltFact[]; readonly report: FoldReport }> {
  const committed = await log.committed(group);
  const setAside = await readSetAside(log, group, fold.reads);
  const unknown = await reasonsOfTrims(log, decides.length === 0 ? [fold.reads] : [fold.reads, fold.writes]);
  const nothing = { group, records: 0, setAside: setAside.size, facts: 0, rows: 0, differences: [] };
  if (unknown.length > 0) return { facts: [], report: { ...nothing, unknown } };
  const other = committed.find(({ rowsVersion }) => rowsVersion !== rowsVersionOf(fold));
  if (other !== undefined) {
    const why = rowsOfOtherVersion({ ...other, group }, other.rowsVersion, rowsVersionOf(fold)).message;
    return { facts: [], report: { ...nothing, unknown: [why] } };
  }

  const causes = new Map<number, Position[]>();
  let records = 0;
  let strange = 0;
  const watched: Fold<unknown> = {
    ...fold,
    on: (rows, event, at, settings) => {
      const passed = { changes: [], emit: [] };
      if (setAside.has(placeOf(at))) return passed;
      records += 1;
      onFolded(records);
      if (settings === undefined) {
        strange += 1;
        return passed;
      }
      const folded = fold.on(rows, event, at, settings);
      const of = causes.get(at.partition) ?? [];
      causes.set(at.partition, of);
      for (const _ of folded.emit) of.push(at);
      return folded;
    },
  };
  const rebuilt = await rebuild(log, group, watched, committed);
  if (strange > 0) {
    const why = `the log does not say which settings ${strange} of ${records} records were folded with`;
    return { facts: [], report: { ...nothing, records, unknown: [why] } };
  }
  const facts = rebuilt.flatMap(({ partition, emitted }) =>
    emitted.map((event, index) => ({ event, cause: causes.get(partition)![index]! })),
  );
  const { rows, differences } = compareRows(group, committed, rebuilt);
  return { facts, report: { ...nothing, records, facts: facts.length, rows, differences, unknown: [] } };
}

async function reasonsOfTrims(log: EventLog, topics: readonly Topic[]): Promise<readonly string[]> {
  const found = await Promise.all(
    [...new Set(topics)].map(async (topic) => ({ topic, starts: await log.starts(topic) })),
  );
  return found
    .filter(({ starts }) => starts.some((start) => start > 0))
    .map(({ topic }) => `the first records of ${topic} were trimmed`);
}

async function compareFacts(
  log: EventLog,
  { group, fold }: AuditedFold,
  {
    facts,
    standing,
    matched,
  }: {
    readonly facts: readonly RebuiltFact[];
    readonly standing: StandingFacts;
    readonly matched: Set<StandingFact>;
  },
): Promise<{ readonly missing: readonly MissingFact[]; readonly differences: readonly string[] }> {
  const missing: MissingFact[] = [];
  const differences: string[] = [];
  for (const { event, cause } of facts) {
    const key = factKey(event);
    const digest = digestOf(event);
    const free = (standing.get(key) ?? []).filter((fact) => !matched.has(fact));
    const found = free.find((fact) => fact.digest === digest) ?? free.find(({ isCopy }) => !isCopy);
    if (found === undefined) {
      const from = `${group} makes it from ${fold.reads}/${placeOf(cause)}`;
      missing.push({ key, digest, says: `${key} is missing in ${fold.writes}: ${from}` });
      continue;
    }
    matched.add(found);
    if (found.digest === digest) continue;
    const field = firstDifference(comparable(await log.read(found.topic, found.at)), comparable(event));
    differences.push(`${key} at ${nameOf(found)}: ${field} differs`);
  }
  return { missing, differences };
}

/** Facts in the log that no rebuild made. A copy of a matched fact does not count. */
const unmatched = (
  standing: StandingFacts,
  matched: ReadonlySet<StandingFact>,
  types: ReadonlySet<string>,
): readonly string[] =>
  [...standing.values()].flatMap((same) =>
    same
      .filter((fact) => types.has(fact.type) && !matched.has(fact))
      .filter(
        ({ isCopy, digest }) => !isCopy || !same.some((fact) => matched.has(fact) && fact.digest === digest),
      )
      .map((fact) => `${factKey(fact)} at ${nameOf(fact)}: no fold makes it`),
  );

const nameOf = ({ topic, at }: StandingFact): string => `${topic}/${placeOf(at)}`;

function compareRows(
  group: string,
  committed: readonly CommittedPartition[],
  rebuilt: readonly RebuiltPartition[],
): { readonly rows: number; readonly differences: readonly string[] } {
  const differences: string[] = [];
  let rows = 0;
  for (const { topic, partition, position, subjects } of committed) {
    const again = rebuilt.find((one) => one.partition === partition);
    if (again === undefined) continue;
    const before = rowsByName(subjects);
    const after = rowsByName(again.subjects);
    rows += before.size;
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const field = firstDifference(before.get(name), after.get(name));
      if (field === undefined) continue;
      const how = !after.has(name)
        ? 'no fold makes it'
        : !before.has(name)
          ? 'is missing'
          : `${field} differs`;
      differences.push(`row ${name} of ${group} at ${topic}/${partition}/${position}: ${how}`);
    }
  }
  return { rows, differences };
}

const rowsByName = (subjects: readonly SubjectView[]): ReadonlyMap<string, unknown> =>
  new Map(
    subjects.flatMap(({ subject, rows }) =>
      [...rows.entries('')].map(([key, row]) => [`${subject} ${key}`, row] as const),
    ),
  );

/** The path of the first field in which two JSON values differ, such as `data.votes.0`; undefined: they are equal. */
function firstDifference(a: unknown, b: unknown): string | undefined {
  if (stableJson(a) === stableJson(b)) return undefined;
  if (!isTree(a) || !isTree(b)) return '';
  for (const name of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
    const inside = firstDifference(a[name], b[name]);
    if (inside !== undefined) return inside === '' ? name : `${name}.${inside}`;
  }
  return '';
}

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
