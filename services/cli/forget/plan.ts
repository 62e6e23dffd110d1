import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { type ParsedRecord, parseEvent } from '../../../shared/events/parse-event.ts';
import { withoutWords } from '../../../shared/events/without-words.ts';
import type { LogContents, PlacedRecord } from '../../../shared/log/log-contents.ts';
import { requireKnownRows } from '../../../shared/log/row-versions.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';
import { rowWithout } from './erase-row.ts';
import { openRepeats, probesIn, type Selection, selectionOf } from './selection.ts';
import {
  openSurvey,
  openTurns,
  type Survey,
  type Target,
  type TrainedVersion,
  targetOf,
  turnsOf,
  versionsFrom,
} from './survey.ts';

/** What an erasure changes, and what it has to wait for. */
export type Plan = {
  readonly target: Target;
  readonly selection: Selection;
  readonly survey: Survey;
  /** records to rewrite, by type */
  readonly records: Readonly<Record<string, number>>;
  readonly rows: number;
  /** turns that may still train */
  readonly open: readonly string[];
  /** folds that have not read all of the records yet */
  readonly behind: readonly string[];
  readonly versions: readonly TrainedVersion[];
  /** other sessions of the access key that repeat words, with the number of their requests */
  readonly repeated: ReadonlyMap<string, number>;
  /** beginnings of the words, by which files are searched */
  readonly probes: ReadonlySet<string>;
};

/** @throws OtherRows: which rows of another version hold words is unknown */
export async function planErasure(
  contents: LogContents,
  word: string,
  key: string | undefined,
): Promise<Plan> {
  for (const group of await contents.groups()) requireKnownRows(group);
  const { on, survey } = openSurvey();
  const unplaced = collectUnplaced();
  for await (const { record, parsed } of parsedRecords(contents)) {
    if (parsed.kind !== 'event') continue;
    on(parsed.event);
    unplaced.on(record, parsed.event);
  }
  const target = targetOf(survey, word, key);
  const turns = new Set(turnsOf(survey, target));
  const probes = await probesOf(contents, selectionOf(survey, target, turns));
  const repeated =
    target.scope === 'key' ? new Map() : await findRepeats(contents, survey, { target, turns, probes });
  const selection = selectionOf(survey, target, turns);
  return {
    target,
    selection,
    survey,
    probes,
    ...(await changesOf(contents, selection, unplaced.of(target.key))),
    open: openTurns(survey, turns),
    versions: versionsFrom(survey, turns),
    repeated,
  };
}

/** The record without words of the selection; undefined: it has none of them. @throws Refusal */
export function recordWithout(record: PlacedRecord, selection: Selection, at: string): string | undefined {
  const parsed = parseEvent(record.body);
  if (parsed.kind === 'event') {
    if (parsed.event.erased !== undefined || !selection.has(parsed.event)) return undefined;
    const erased = withoutWords(parsed.event, at);
    return erased === parsed.event ? undefined : JSON.stringify(erased);
  }
  if (!selection.isNamedIn(record.body)) return undefined;
  if (parsed.kind === 'broken') return JSON.stringify({ erased: at });
  throw tooNew(record, parsed);
}

const tooNew = (
  { topic, partition, offset }: PlacedRecord,
  { type }: Extract<ParsedRecord, { readonly kind: 'unknown' | 'newer' }>,
): Error =>
  new Refusal(
    `${topic}/${partition}@${offset} is ${type}, which this version of ClawLoop cannot read, so it cannot say which of ` +
      'its fields are words: update ClawLoop, then run the command again',
  );

async function* parsedRecords({ records }: LogContents) {
  for await (const record of records()) yield { record, parsed: parseEvent(record.body) };
}

async function probesOf(contents: LogContents, selection: Selection): Promise<ReadonlySet<string>> {
  const probes = new Set<string>();
  for await (const { parsed } of parsedRecords(contents))
    if (parsed.kind === 'event' && parsed.event.erased === undefined && selection.has(parsed.event))
      for (const probe of probesIn(parsed.event)) probes.add(probe);
  return probes;
}

/**
 * Adds requests beside a conversation that repeat its words, such as for a title: their session is unknown. Returns
 * other sessions of the same access key that repeat words: whether they are the same person's is for the operator to say.
 */
async function findRepeats(
  contents: LogContents,
  survey: Survey,
  {
    target,
    turns,
    probes,
  }: { readonly target: Target; readonly turns: Set<string>; readonly probes: ReadonlySet<string> },
): Promise<ReadonlyMap<string, number>> {
  const repeated = new Map<string, number>();
  if (probes.size === 0) return repeated;
  const repeats = openRepeats(probes);
  for await (const { parsed } of parsedRecords(contents)) {
    if (parsed.kind !== 'event' || parsed.event.type !== 'interaction.completed') continue;
    const { interactionId, key } = parsed.event.data;
    if (key !== target.key || turns.has(interactionId) || !repeats(parsed.event)) continue;
    const session = survey.turns.get(interactionId)?.session;
    if (session === undefined) turns.add(interactionId);
    else repeated.set(session, (repeated.get(session) ?? 0) + 1);
  }
  return repeated;
}

async function changesOf(
  contents: LogContents,
  selection: Selection,
  unplaced: ReadonlyMap<string, number>,
): Promise<Pick<Plan, 'records' | 'rows' | 'behind'>> {
  const records: Record<string, number> = {};
  const last = new Map<string, number>();
  for await (const record of contents.records()) {
    if (recordWithout(record, selection, EPOCH) === undefined) continue;
    records[record.type] = (records[record.type] ?? 0) + 1;
    last.set(placeOf(record), record.offset);
  }
  let rows = 0;
  for await (const row of contents.rows()) if (rowWithout(row, selection) !== undefined) rows += 1;
  const behind = (await contents.groups())
    .filter(({ group, position, ...at }) => {
      const place = placeOf(at);
      const lastToPlace = group === ATTRIBUTE ? (unplaced.get(place) ?? -1) : -1;
      return position <= Math.max(last.get(place) ?? -1, lastToPlace);
    })
    .map(({ group, topic, partition }) => `${group} in ${topic}/${partition}`);
  return { records, rows, behind };
}

/** The group that gives each request its session. */
const ATTRIBUTE = 'attribute';

const placeOf = ({ topic, partition }: { readonly topic: string; readonly partition: number }): string =>
  `${topic}/${partition}`;

/**
 * Collects, for each access key, the last offset by partition of its requests that name no session. One that
 * `attribute` has not read may turn out to be of the target.
 */
function collectUnplaced() {
  const byKey = new Map<string, Map<string, number>>();
  return {
    on: (record: PlacedRecord, event: ClawLoopEvent): void => {
      if (event.type !== 'interaction.completed' || event.data.session !== undefined) return;
      const { key } = event.data;
      byKey.set(key, (byKey.get(key) ?? new Map()).set(placeOf(record), record.offset));
    },
    of: (key: string): ReadonlyMap<string, number> => byKey.get(key) ?? new Map(),
  };
}

/** Any time: the plan only counts. */
const EPOCH = new Date(0).toISOString();
