import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import { evidenceOfWorse } from '../../../shared/lineage/evidence.ts';
import { type Audited, placeNumber, placeOf, type ReportViolation } from './audited.ts';
import { type Books, openTextNumbers, openTextSet, type TextSet } from './books/books.ts';
import { codeOf, numberOf } from './books/table.ts';

type Adapter = {
  /** by version: verdicts recorded so far, and how many are bad */
  readonly verdicts: Map<number, { turns: number; bad: number }>;
  readonly parents: Map<number, number>;
};

/** Sources of a judgment that speak of the version that answered. */
const aboutVersion: ReadonlySet<string> = new Set(['votes', 'feedback', 'implicit']);

/** The event has four digits. */
const ROUNDING = 1e-3;
const isNear = (value: number, computed: number): boolean =>
  Math.abs(computed - value) <= ROUNDING * Math.max(1, computed);

/**
 * Checks that a recorded verdict is that of its turn, that an automatic rollback leads to the parent for numbers
 * that justify it, and that it counts no verdict that is not in the log; that the figures of a canary agree; that a
 * judged turn which became a sample has its verdict recorded. Feed it turns before training.
 */
export function createVerdictCheck(violation: ReportViolation, { items }: Books) {
  /** by turn: version that answered, plus 1 */
  const versions = openTextNumbers(items, 'int');
  /** by turn that was judged */
  const scored = openTextSet(items);
  const scores = openTextNumbers(items, 'double');
  /** by turn: its place */
  const turns = openTextNumbers(items, 'double');
  /** turns whose answers call a tool, and rewarded ones, may have no verdict */
  const needsVerdict = openTextNumbers(items, 'byte');
  const ready = openTextSet(items);
  const recorded = openTextSet(items);
  const rollbacks = new Set<string>();
  /** batches whose candidate was on canary */
  const canaries = new Set<string>();
  const adapters = new Map<string, Adapter>();
  const adapterOf = (name: string): Adapter => {
    const known = adapters.get(name) ?? { verdicts: new Map(), parents: new Map() };
    adapters.set(name, known);
    return known;
  };

  const onVerdict = ({ subject, data }: Extract<ClawLoopEvent, { type: 'verdict.recorded' }>): void => {
    const { turnId, version, score } = data;
    if (recorded.has(turnId)) return;
    recorded.add(turnId);
    const judged = numberOf(scores.get(turnId));
    if (!scored.has(turnId)) violation(`the verdict of ${turnId} has no judgment`, 'turns');
    else if (judged !== score) violation(`the verdict of ${turnId} is ${score}, but ${judged} was judged`);
    const answered = versions.get(turnId) - 1;
    if (answered >= 0 && answered !== version)
      violation(`the verdict of ${turnId} counts for v${version}, but v${answered} answered`);
    const { verdicts } = adapterOf(subject);
    const { turns, bad } = verdicts.get(version) ?? { turns: 0, bad: 0 };
    verdicts.set(version, { turns: turns + 1, bad: bad + (score < 0 ? 1 : 0) });
  };

  const onRollback = ({ id, subject, data }: PolicyRolledBack): void => {
    const { from, to, figures } = data;
    if (data.cause !== 'automatic' || rollbacks.has(id)) return;
    rollbacks.add(id);
    const wrong = (what: string) => violation(`${id} rolls back v${from} of ${subject}, ${what}`);
    const { parents, verdicts } = adapterOf(subject);
    if (parents.get(from) !== to)
      violation(`${id} rolls back v${from} of ${subject} to v${to}, which is not its parent`, 'training');
    if (figures === undefined) {
      wrong('but names no figures');
      return;
    }
    const { turns, bad, turnsBefore, badBefore, evidence, alpha, margin } = figures;
    const before = { turns: turnsBefore, bad: badBefore };
    const again = evidenceOfWorse({ before, after: { turns, bad }, margin });
    if (!isNear(evidence, again)) wrong(`with the evidence ${evidence}, but its counts give ${again}`);
    if (evidence * (1 + ROUNDING) < 1 / alpha)
      wrong(`although the evidence ${evidence} is less than ${1 / alpha}`);
    let inLog = { turns: 0, bad: 0 };
    for (const [version, tally] of verdicts)
      if (version >= from) inLog = { turns: inLog.turns + tally.turns, bad: inLog.bad + tally.bad };
    if (turns > inLog.turns || bad > inLog.bad)
      violation(
        `${id} counts ${bad} of ${turns} bad verdicts since v${from} of ${subject}, but the log has ${inLog.bad} of ${inLog.turns}`,
        'training',
      );
  };

  const onCanaryEnd = (
    id: string,
    {
      batchId,
      figures = {},
    }: { readonly batchId: string; readonly figures?: Readonly<Record<string, number>> | undefined },
  ): void => {
    if (!canaries.has(batchId)) violation(`${id} ends a canary that never started`, 'training');
    const { turnsOfParent = 0, badOfParent = 0, turns = 0, bad = 0, margin = 0 } = figures;
    const [parent, candidate] = [
      { turns: turnsOfParent, bad: badOfParent },
      { turns, bad },
    ];
    const again = {
      evidenceOfWorse: evidenceOfWorse({ before: parent, after: candidate, margin: 0 }),
      evidenceOfNotWorse: evidenceOfWorse({ before: candidate, after: parent, margin: -margin }),
    };
    for (const [name, value] of Object.entries(again))
      if (figures[name] !== undefined && !isNear(figures[name], value))
        violation(`${id} has ${name} ${figures[name]}, but its counts give ${value}`);
  };

  function* turnsIn(set: TextSet): Generator<string> {
    for (let item = 0; item < items.size(); item++) {
      const turnId = items.nameOf(item);
      if (set.has(turnId) && turns.get(turnId) > 0) yield turnId;
    }
  }

  /** Verdicts of turns before the first recorded one of their partition are those of an earlier program. */
  const finish = (): void => {
    const since = new Map<number, number>();
    for (const turnId of turnsIn(recorded)) {
      const { partition, offset } = placeOf(turns.get(turnId));
      since.set(partition, Math.min(offset, since.get(partition) ?? offset));
    }
    if (since.size === 0) return;
    for (const turnId of turnsIn(ready)) {
      if (needsVerdict.get(turnId) === 0 || recorded.has(turnId)) continue;
      if (!scored.has(turnId) || numberOf(scores.get(turnId)) === null) continue;
      const { partition, offset } = placeOf(turns.get(turnId));
      if (offset > (since.get(partition) ?? Number.POSITIVE_INFINITY))
        violation(`${turnId} became a sample, but its verdict is not recorded`, 'training');
    }
  };

  const onTurn = ({ data }: Extract<ClawLoopEvent, { type: 'turn.completed' }>, at: Audited['at']): void => {
    const { turnId, version, settle, answer } = data;
    if (versions.get(turnId) > 0) return;
    versions.set(turnId, version + 1);
    turns.set(turnId, placeNumber(at));
    if (settle !== 'reward' && (answer.tool_calls ?? []).length === 0) needsVerdict.set(turnId, 1);
  };

  return {
    finish,
    on: ({ event, at }: Audited): void => {
      switch (event.type) {
        case 'turn.completed':
          onTurn(event, at);
          break;
        case 'judgment.reached': {
          const { turnId, score, source } = event.data;
          if (scored.has(turnId)) break;
          scored.add(turnId);
          scores.set(turnId, codeOf(score));
          if (!aboutVersion.has(source)) needsVerdict.set(turnId, 0);
          break;
        }
        case 'sample.ready':
          ready.add(event.data.sampleId);
          break;
        case 'turn.skipped':
          if (event.data.answered !== undefined) {
            versions.set(event.data.turnId, event.data.answered.version + 1);
            scored.add(event.data.turnId);
            scores.set(event.data.turnId, -1);
          }
          break;
        case 'verdict.recorded':
          onVerdict(event);
          break;
        case 'policy.canary-started':
          canaries.add(event.data.batchId);
          break;
        case 'policy.rejected':
          if (event.data.reason === 'canary') onCanaryEnd(event.id, event.data);
          break;
        case 'policy.promoted': {
          if (event.data.figures !== undefined) onCanaryEnd(event.id, event.data);
          const { parents } = adapterOf(event.subject);
          if (!parents.has(event.data.to)) parents.set(event.data.to, event.data.from);
          break;
        }
        case 'policy.rolled-back':
          onRollback(event);
          break;
        case 'learning.paused':
          if (event.data.rollback !== undefined && !rollbacks.has(event.data.rollback))
            violation(
              `${event.id} pauses learning after ${event.data.rollback}, which is not in the log`,
              'training',
            );
          break;
        default:
      }
    },
    /** number of automatic rollbacks */
    rollbacks: (): number => rollbacks.size,
  };
}
