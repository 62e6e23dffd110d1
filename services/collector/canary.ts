import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import type { VerdictRecorded } from '../../shared/events/verdict-recorded.ts';
import { addTally, badShare, noTurns, type Tally } from '../../shared/lineage/evidence.ts';
import type { Canary } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import { canaryEvidence } from '../../shared/lineage/watched-versions.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { type Draft, openDraft, type Rows } from '../../shared/log/rows.ts';
import type { CanarySettings } from './fold-settings.ts';
import { envelopeOf } from './source.ts';

/**
 * Decides about a candidate that answers a share of the sessions: by the verdicts on both versions from the start of
 * the canary on, with the same always-valid test in both directions. The outcome is that of its batch.
 */

/** `canary/now`: of the canary that is or was last on. */
type CanaryRow = {
  readonly batchId: string;
  /** ms since 1970 */
  readonly since: number;
  readonly parent: Tally;
  readonly candidate: Tally;
  /** its outcome is emitted, and not read back yet */
  readonly decided?: true;
};

export const HOUR_MS = 3_600_000;

/** For a log in which a canary began under settings that are gone. */
export const canaryFallback: CanarySettings = { alpha: 0.01, margin: 0.1, turns: 200, hours: 72 };

const timeOf = ({ time, recorded }: InputEvent): number => recorded ?? Date.parse(time);

/** Counts a verdict for the version on canary or its parent. */
export function countForCanary(draft: Draft, { data }: VerdictRecorded): void {
  const canary = headView(draft).canary ?? null;
  const table = draft.table<CanaryRow>('canary');
  const row = table.get('now');
  if (canary === null || row?.batchId !== canary.batchId) return;
  const one = { turns: 1, bad: data.score < 0 ? 1 : 0 };
  if (data.version === canary.to) table.set('now', { ...row, candidate: addTally(row.candidate, one) });
  if (data.version === canary.from) table.set('now', { ...row, parent: addTally(row.parent, one) });
}

/** Starts to count for a new canary, and ends the one that is on if its verdicts, its time or the head say so. */
export function decideCanary(
  draft: Draft,
  event: InputEvent,
  settings: CanarySettings = canaryFallback,
): readonly ClawLoopEvent[] {
  const view = headView(draft);
  const canary = view.canary ?? null;
  if (canary === null) return [];
  const table = draft.table<CanaryRow>('canary');
  const before = table.get('now');
  const isNew = before?.batchId !== canary.batchId;
  const row: CanaryRow = isNew
    ? { batchId: canary.batchId, since: timeOf(event), parent: noTurns, candidate: noTurns }
    : settings.correctsStart && timeOf(event) < before.since
      ? { ...before, since: timeOf(event) }
      : before;
  if (row.decided) return [];
  const decision =
    canary.from === view.head
      ? decide(row, (timeOf(event) - row.since) / HOUR_MS, settings)
      : { promotes: false, why: `its parent v${canary.from} was rolled back`, figures: countsOf(row) };
  if (row !== before || decision !== undefined)
    table.set('now', decision === undefined ? row : { ...row, decided: true });
  return decision === undefined ? [] : [outcomeOf(event, canary, decision)];
}

type Decision = {
  readonly promotes: boolean;
  readonly why: string;
  readonly figures: Readonly<Record<string, number>>;
};

const countsOf = ({ parent, candidate }: CanaryRow) => ({
  turnsOfParent: parent.turns,
  badOfParent: parent.bad,
  turns: candidate.turns,
  bad: candidate.bad,
});

/** First match wins: surely worse, surely not worse by the margin, or long enough. */
function decide(row: CanaryRow, hours: number, settings: CanarySettings): Decision | undefined {
  const { parent, candidate } = row;
  const { alpha, margin } = settings;
  const { worse, notWorse } = canaryEvidence(row, margin);
  const rounded = (evidence: number) => Number(evidence.toPrecision(4));
  const figures = {
    ...countsOf(row),
    evidenceOfWorse: rounded(worse),
    evidenceOfNotWorse: rounded(notWorse),
    alpha,
    margin,
  };
  if (worse >= 1 / alpha)
    return { promotes: false, why: 'its verdicts are worse than those on its parent', figures };
  if (notWorse >= 1 / alpha)
    return {
      promotes: true,
      why: `its verdicts are not worse than those on its parent by ${margin}`,
      figures,
    };
  const isLong = candidate.turns >= settings.turns || hours >= settings.hours;
  if (!isLong) return undefined;
  const isHigher = badShare(candidate) > badShare(parent) + margin;
  return {
    promotes: !isHigher,
    why: `undecided after ${candidate.turns} verdicts and ${Math.floor(hours)} hours; its rate of bad verdicts is ${isHigher ? '' : 'not '}higher by ${margin}`,
    figures,
  };
}

function outcomeOf(
  event: ClawLoopEvent,
  canary: Canary,
  { promotes, why, figures }: Decision,
): ClawLoopEvent {
  const { share: _, ...served } = canary;
  const { batchId, adapter } = canary;
  return promotes
    ? PolicyPromoted.create({
        ...envelopeOf(event),
        id: `${batchId}/promoted`,
        data: { ...served, reason: why, figures },
      })
    : PolicyRejected.create({
        ...envelopeOf(event),
        id: `${batchId}/rejected`,
        data: { batchId, adapter, reason: 'canary', detail: why, figures },
      });
}

type RunningCanary = Pick<CanaryRow, 'since' | 'parent' | 'candidate'> & { readonly canary: Canary };

/** For timer and metrics, from committed rows: the canary that is on and not decided; undefined: none. */
export function runningCanary(rows: Rows): RunningCanary | undefined {
  const draft = openDraft(rows);
  const { canary } = headView(draft);
  const row = draft.table<CanaryRow>('canary').get('now');
  if (canary == null || row?.batchId !== canary.batchId || row.decided) return undefined;
  const { since, parent, candidate } = row;
  return { canary, since, parent, candidate };
}
