import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import type { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import type { VerdictRecorded } from '../../shared/events/verdict-recorded.ts';
import { defined } from '../../shared/lang/defined.ts';
import { addTally, evidenceOfWorse, noTurns, type Tally } from '../../shared/lineage/evidence.ts';
import { type HeadView, lineage } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { type Draft, openDraft, type Rows } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import { isChangeOfMind } from '../../shared/wishes/changes-of-mind.ts';
import type { WatchSettings } from './fold-settings.ts';
import { envelopeOf } from './source.ts';

/**
 * Compares the verdicts on a version, and on all that was trained from it, with those before it, and rolls it back
 * if they are clearly worse. Each promotion is watched until it is `WATCHED_STEPS` steps or `MOST_TURNS` verdicts
 * old. One person gives a version only a few verdicts before the next one is promoted, so its successors count,
 * too: if they cured the fault, their verdicts show it.
 */

/** Promotions of the served lineage that are watched. The trainer keeps their checkpoints. */
const WATCHED_STEPS = 8;
/** Verdicts after which a version has proved itself. */
const MOST_TURNS = 100;
/** Verdicts, or versions, of a stretch of the lineage. A version is compared with the stretch before its own, and the start of its own. */
const STRETCH = 30;
const LONGEST_STRETCH = 64;
/** Batches within which automatic rollbacks count as repeated. */
const REPEATED_WITHIN = 20;

/**
 * `verdicts/<version>`. The stretches start at a promotion, never at a place that later verdicts choose: otherwise
 * the test would not be valid.
 */
type VersionRow = Tally & {
  /** version with which its stretch starts */
  readonly stretch: number;
  /** version with which the stretch before starts: the oldest that it is compared with */
  readonly since: number;
};

/** `watch/now` */
type WatchRow = {
  /** id of an event of this fold that it has not read back yet: no batch is formed until then */
  readonly awaits?: string;
  /** number of the last batch at each automatic rollback, newest last */
  readonly rollbacks?: readonly number[];
  /** oldest version that was watched at the last promotion: a rollback brings back no older one, whose parent may be gone */
  readonly oldest?: number;
  /**
   * number of the last batch when an operator, or a rollback, chose the head: only later versions are watched. If the
   * restored version is disliked like the one before it, the person changed, and no older version helps.
   */
  readonly chosen?: number;
};

const tables = (draft: Draft) => ({
  versions: draft.table<VersionRow>('verdicts'),
  watch: draft.table<WatchRow>('watch'),
});

const newRow = (version: number): VersionRow => ({ ...noTurns, stretch: version, since: version });

/** Whether the fold waits for a decision of its own to become part of the log. */
export const awaitsDecision = (draft: Draft): boolean => tables(draft).watch.get('now')?.awaits !== undefined;

/** Whether a verdict counts: it is no copy, and says something about the version that answered. */
export function isCounted(draft: Draft, event: VerdictRecorded & InputEvent): boolean {
  const { turnId } = event.data;
  const counted = settledIds(draft);
  if (counted.has(turnId)) return false;
  counted.add(turnId, event);
  return !isChangeOfMind(draft, event.data);
}

/** Adds a verdict that counts, and rolls a version back if this verdict shows that it is worse. */
export function watchVerdict(
  draft: Draft,
  event: VerdictRecorded,
  settings: WatchSettings,
): readonly ClawLoopEvent[] {
  const { version, score } = event.data;
  const { versions, watch } = tables(draft);
  const row = versions.get(String(version)) ?? newRow(version);
  versions.set(String(version), { ...row, ...addTally(row, { turns: 1, bad: score < 0 ? 1 : 0 }) });
  const now = watch.get('now') ?? {};
  if (now.awaits !== undefined) return [];
  const worst = worstVersion(draft, headView(draft), settings);
  if (worst === undefined) return [];
  const rollback = rollbackOf(event, worst, settings);
  watch.set('now', { ...now, awaits: rollback.id });
  return [rollback];
}

type Worse = {
  readonly version: number;
  readonly parent: number;
  readonly since: number;
  readonly before: Tally;
  readonly after: Tally;
  readonly evidence: number;
};

/** The watched version with the most evidence against it, if that is enough. */
function worstVersion(draft: Draft, view: HeadView, settings: WatchSettings): Worse | undefined {
  const worst = mostEvidence(draft, view, settings);
  return worst !== undefined && worst.evidence >= 1 / settings.alpha ? worst : undefined;
}

/** The watched version with the most evidence against it; of equals, the newest. */
function mostEvidence(draft: Draft, view: HeadView, { margin }: WatchSettings): Worse | undefined {
  const { chosen = 0, oldest = 0 } = tables(draft).watch.get('now') ?? {};
  const compared = compareVersions(draft, view, Math.max(chosen + 1, oldest)).map((arms) => ({
    ...arms,
    evidence: evidenceOfWorse({ ...arms, margin }),
  }));
  return compared.reduce<Worse | undefined>(
    (most, one) => (most === undefined || one.evidence > most.evidence ? one : most),
    undefined,
  );
}

/** For the metrics, from committed rows: the watched version with the most evidence against it; undefined: none. */
export function watchedVersion(
  rows: Rows,
  settings: WatchSettings,
): Pick<Worse, 'version' | 'before' | 'after' | 'evidence'> | undefined {
  const draft = openDraft(rows);
  return mostEvidence(draft, headView(draft), settings);
}

/** The watched versions from `first` on, newest first, with the verdicts before and after each of their promotions. */
function compareVersions(draft: Draft, view: HeadView, first: number): readonly Omit<Worse, 'evidence'>[] {
  const { versions } = tables(draft);
  const rowOf = (version: number) => versions.get(String(version)) ?? newRow(version);
  const watched: { version: number; parent: number; since: number; after: Tally }[] = [];
  let after = noTurns;
  let at = view.head;
  for (let step = 0; step < WATCHED_STEPS; step++) {
    const parent = view.version(at)?.parent ?? null;
    const row = rowOf(at);
    after = addTally(after, row);
    if (parent === null || at < first || after.turns > MOST_TURNS) break;
    if (row.since < at) watched.push({ version: at, parent, since: row.since, after });
    at = parent;
  }
  if (watched.length === 0) return [];
  // verdicts on each version and on all versions after it, up to the head
  const upToHead = new Map<number, Tally>();
  const oldest = Math.min(...watched.map(({ since }) => since));
  let sum = noTurns;
  for (let version: number | null = view.head; version !== null && version >= oldest; ) {
    sum = addTally(sum, rowOf(version));
    upToHead.set(version, sum);
    version = view.version(version)?.parent ?? null;
  }
  return watched.map((one) => {
    const whole = upToHead.get(one.since) ?? sum;
    const before = { turns: whole.turns - one.after.turns, bad: whole.bad - one.after.bad };
    return { ...one, before };
  });
}

function rollbackOf(
  event: VerdictRecorded,
  { version, parent, since, before, after, evidence }: Worse,
  { alpha, margin }: WatchSettings,
): PolicyRolledBack {
  const { turnId, adapter } = event.data;
  const share = ({ bad, turns }: Tally) => `${bad} of ${turns}`;
  return PolicyRolledBack.create({
    ...envelopeOf(event),
    id: `${turnId}/rolled-back`,
    data: {
      adapter,
      from: version,
      to: parent,
      cause: 'automatic',
      reason: `since v${version}, ${share(after)} verdicts are bad; before, ${share(before)} were`,
      turnId,
      figures: {
        turnsBefore: before.turns,
        badBefore: before.bad,
        turns: after.turns,
        bad: after.bad,
        since,
        evidence: Number(evidence.toPrecision(4)),
        alpha,
        margin,
      },
    },
  });
}

/** Starts to watch a version. Call it once the head has moved to it. */
export function watchPromoted(draft: Draft, { data: { from, to } }: PolicyPromoted): void {
  const { versions, watch } = tables(draft);
  const known = versions.get(String(to)) ?? newRow(to); // a canary has verdicts
  if (known.since !== to || headView(draft).head !== to) return;
  const now = watch.get('now') ?? {};
  const oldest = lineage(headView(draft), to).at(WATCHED_STEPS - 1) ?? 0;
  if (oldest > (now.oldest ?? 0)) watch.set('now', { ...now, oldest });
  const parent = versions.get(String(from)) ?? newRow(from);
  let [turns, steps] = [0, 0];
  for (const view = headView(draft), at = { version: from }; ; ) {
    turns += versions.get(String(at.version))?.turns ?? 0;
    steps += 1;
    const next = view.version(at.version)?.parent ?? null;
    if (at.version === parent.stretch || next === null) break;
    at.version = next;
  }
  const isWhole = turns >= STRETCH || steps >= LONGEST_STRETCH;
  const { stretch, since } = isWhole ? { stretch: to, since: parent.stretch } : parent;
  versions.set(String(to), { ...known, stretch, since });
}

/** Reads decisions: an operator's, and those of this fold, which now take effect. Repeated rollbacks pause learning. */
export function noteDecision(
  draft: Draft,
  event: InputEvent,
  settings: WatchSettings | undefined,
): readonly ClawLoopEvent[] {
  const { watch } = tables(draft);
  const row = watch.get('now') ?? {};
  const awaited = row.awaits === event.id;
  if (awaited) watch.set('now', without(row, 'awaits'));
  if (settings === undefined) return [];
  if (event.type === 'learning.resumed' && row.rollbacks !== undefined) {
    watch.set('now', without(row, 'rollbacks'));
    return [];
  }
  if (event.type !== 'policy.rolled-back') return [];
  const { head, n } = headView(draft);
  if (head !== event.data.to) return []; // it had no effect: the head had moved elsewhere
  if (event.data.cause !== 'automatic') {
    watch.set('now', { ...row, chosen: n });
    return [];
  }
  if (!awaited) return [];
  const rollbacks = [...(row.rollbacks ?? []), n].filter((batch) => batch > n - REPEATED_WITHIN);
  const pause = rollbacks.length < settings.pauseAfter ? undefined : pauseAfter(event, rollbacks.length);
  watch.set('now', { ...without(row, 'awaits'), chosen: n, rollbacks, ...defined({ awaits: pause?.id }) });
  return pause === undefined ? [] : [pause];
}

function without(row: WatchRow, name: keyof WatchRow): WatchRow {
  const { [name]: _, ...rest } = row;
  return rest;
}

const pauseAfter = (event: PolicyRolledBack, rollbacks: number): LearningPaused =>
  LearningPaused.create({
    ...envelopeOf(event),
    id: `${event.id}/paused`,
    data: {
      adapter: event.data.adapter,
      reason: `${rollbacks} automatic rollbacks within ${REPEATED_WITHIN} batches: learning made the answers worse`,
      rollback: event.id,
    },
  });
