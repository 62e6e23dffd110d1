import { conversationName, isChosen } from '../../../../services/serving/heads/serve-canary.ts';
import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import { addTally, evidenceOfWorse, noTurns, type Tally } from '../../../../shared/lineage/evidence.ts';
import { canary as rules } from '../folds.ts';
import type { History, Law } from './history.ts';

/** An outcome that the collector gave a batch by verdicts. */
export const isCanaryDecision = (event: ClawLoopEvent): boolean =>
  (event.type === 'policy.promoted' || event.type === 'policy.rejected') &&
  event.source === 'clawloop/collector';

type Arms = { readonly parent: Tally; readonly candidate: Tally };
type Decision = Extract<ClawLoopEvent, { type: 'policy.promoted' | 'policy.rejected' }>;
type On = {
  readonly batchId: string;
  readonly from: number;
  readonly to: number;
  /** the counts after each verdict since its start, oldest first */
  readonly seen: Arms[];
};

/** The canaries of one adapter, in log order, told again without the code under test. */
function walk(events: readonly ClawLoopEvent[]): readonly string[] {
  const wrong: string[] = [];
  let open: Extract<ClawLoopEvent, { type: 'batch.submitted' }>['data'] | undefined;
  let on: On | undefined;
  const counted = new Set<string>();
  for (const event of events) {
    switch (event.type) {
      case 'batch.submitted':
        open = event.data;
        break;
      case 'policy.canary-started': {
        const { batchId, from, to } = event.data;
        if (open?.batchId !== batchId || on !== undefined) break;
        on = { batchId, from, to, seen: [{ parent: noTurns, candidate: noTurns }] };
        break;
      }
      case 'verdict.recorded': {
        const { turnId, version, score } = event.data;
        if (counted.has(turnId)) break;
        counted.add(turnId);
        const { parent, candidate } = on?.seen.at(-1) ?? { parent: noTurns, candidate: noTurns };
        const one = { turns: 1, bad: score < 0 ? 1 : 0 };
        if (version === on?.from) on.seen.push({ parent: addTally(parent, one), candidate });
        if (version === on?.to) on.seen.push({ parent, candidate: addTally(candidate, one) });
        break;
      }
      case 'policy.promoted':
      case 'policy.rejected':
      case 'policy.update-failed': {
        if (event.data.batchId !== open?.batchId) break;
        if (isCanaryDecision(event)) {
          if (on === undefined) wrong.push(`${event.id} ends no canary`);
          else wrong.push(...judged(event as Decision, on));
        } else if (event.type === 'policy.promoted' && (open.settings.canaryShare ?? 0) > 0)
          wrong.push(`promoted without its canary: ${event.id}`);
        open = undefined;
        on = undefined;
        break;
      }
      default:
    }
  }
  if (on !== undefined) wrong.push(`a canary without an end: ${on.batchId}`);
  return wrong;
}

/** Whether a decision counts the verdicts that the log has at some moment of the canary, and does what they say. */
function judged({ id, type, data: { figures = {} } }: Decision, { seen }: On): readonly string[] {
  const { turnsOfParent, badOfParent, turns, bad } = figures;
  const moment = seen.find(
    ({ parent, candidate }) =>
      parent.turns === turnsOfParent &&
      parent.bad === badOfParent &&
      candidate.turns === turns &&
      candidate.bad === bad,
  );
  if (moment === undefined)
    return [`${id} counts verdicts that the log never had: ${JSON.stringify(figures)}`];
  const { parent: before, candidate: after } = moment;
  const isWorse = evidenceOfWorse({ before, after, margin: 0 }) >= 1 / rules.alpha;
  return isWorse && type === 'policy.promoted' ? [`${id} promotes what is worse`] : [];
}

const decisions = (events: readonly ClawLoopEvent[]) =>
  events.filter(isCanaryDecision) as readonly Decision[];

/** Each canary ends once, by the verdicts that the log has on its two versions, and nothing is promoted without it. */
export const canariesEndOnce: Law = ({ world, all }) => {
  const twice = [...Map.groupBy(decisions(all), ({ data }) => data.batchId)]
    .filter(([, same]) => same.length > 1)
    .map(([batchId, same]) => `${batchId} is decided ${same.length} times`);
  const byAdapter = Map.groupBy(world.records.training.flat(), ({ subject }) => subject);
  return [...twice, ...[...byAdapter.values()].flatMap(walk)];
};

/** A candidate that was never promoted answered the sessions that its share chose, and no others. */
export const sessionsKeepTheirVersion: Law = ({ of, interactions }: History) => {
  const promoted = new Set(of('policy.promoted').map(({ subject, data }) => `${subject} ${data.to}`));
  const canaries = new Map(
    of('policy.canary-started').map(({ subject, data }) => [`${subject} ${data.to}`, data]),
  );
  return [...interactions.values()].flatMap(({ id, data }) => {
    const { adapter, version, lane, session, messages, settle, live } = data;
    const canary = canaries.get(`${adapter} ${version}`);
    if (canary === undefined || promoted.has(`${adapter} ${version}`)) return [];
    if (settle === 'reward' || !live) return [`${id} met v${version} on canary, but has no verdict`];
    const name = conversationName(lane, session, messages);
    const isMeant = isChosen(name, { policy: { version }, share: canary.share });
    return isMeant ? [] : [`${id} met v${version} on canary, but its session was not chosen`];
  });
};
