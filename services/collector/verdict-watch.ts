import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import type { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import type { VerdictRecorded } from '../../shared/events/verdict-recorded.ts';
import { defined } from '../../shared/lang/defined.ts';
import { addTally, evidenceOfWorse, type Tally } from '../../shared/lineage/evidence.ts';
import type { HeadView } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import {
  type CountedOf,
  type CountedVersion,
  newVersion,
  oldestWatched,
  stretchAfter,
  type WatchedVersion,
  watchedVersions,
} from '../../shared/lineage/watched-versions.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { type Draft, openDraft, type Rows } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import { isChangeOfMind } from '../../shared/wishes/changes-of-mind.ts';
import type { WatchSettings } from './fold-settings.ts';
import { envelopeOf } from './source.ts';

/**
 * Compares the verdicts on a version, and on all that was trained from it, with those before it, and rolls it back
 * if they are clearly worse.
 */

/** Batches within which automatic rollbacks count as repeated. */
const REPEATED_WITHIN = 20;

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
  versions: draft.table<CountedVersion>('verdicts'),
  watch: draft.table<WatchRow>('watch'),
});

/** `verdicts/<version>` */
const countedIn =
  (draft: Draft): CountedOf =>
  (version) =>
    tables(draft).versions.get(String(version)) ?? newVersion(version);

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
  const row = countedIn(draft)(version);
  versions.set(String(version), { ...row, ...addTally(row, { turns: 1, bad: score < 0 ? 1 : 0 }) });
  const now = watch.get('now') ?? {};
  if (now.awaits !== undefined) return [];
  const worst = worstVersion(draft, headView(draft), settings);
  if (worst === undefined) return [];
  const rollback = rollbackOf(event, worst, settings);
  watch.set('now', { ...now, awaits: rollback.id });
  return [rollback];
}

type Worse = WatchedVersion & { readonly evidence: number };

/** The watched version with the most evidence against it, if that is enough. */
function worstVersion(draft: Draft, view: HeadView, settings: WatchSettings): Worse | undefined {
  const worst = mostEvidence(draft, view, settings);
  return worst !== undefined && worst.evidence >= 1 / settings.alpha ? worst : undefined;
}

/** The watched version with the most evidence against it; of equals, the newest. */
function mostEvidence(draft: Draft, view: HeadView, { margin }: WatchSettings): Worse | undefined {
  const { chosen = 0, oldest = 0 } = tables(draft).watch.get('now') ?? {};
  const compared = watchedVersions(view, Math.max(chosen + 1, oldest), countedIn(draft)).map((arms) => ({
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
  const view = headView(draft);
  const of = countedIn(draft);
  const known = of(to); // a canary has verdicts
  if (known.since !== to || view.head !== to) return;
  const now = watch.get('now') ?? {};
  const oldest = oldestWatched(view, to);
  if (oldest > (now.oldest ?? 0)) watch.set('now', { ...now, oldest });
  versions.set(String(to), { ...known, ...stretchAfter(view, { from, to }, of) });
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
