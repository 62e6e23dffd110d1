import type { ClawLoopEvent } from '../../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../../shared/events/interaction-completed.ts';
import { DAY_MS } from '../../../../shared/log/event-clock.ts';
import { firstPlaces, type Law } from './history.ts';

/**
 * At the end of a session that is settled by reward each turn is told its own last reward and the mean of
 * what came of it; its parent is the turn whose request and answer its request extends by least.
 */
export const returnsFollowTheTree: Law = ({ world, of, interactions }) => {
  const wrong: string[] = [];
  const place = firstPlaces(world.records.conversations);
  const told = of('turn.feedback').filter(({ data }) => data.return !== undefined);
  const isStale = behindTheirLane(world.records.conversations);
  const given = new Map(of('feedback.given').map((event) => [event.id, event]));
  // a copy that comes when its lane is forgotten is told of once more, as too late, and of no session
  const settled = of('turn.skipped').filter(({ data }) => data.reason !== 'too-late');
  const turnFacts = [...of('turn.completed'), ...settled];
  const epochs = new Map<string, string>(
    turnFacts.map(({ data }) => [data.turnId, `${data.session}@${data.epoch}`]),
  );
  const closedBy = new Map<string, string>(
    of('session.closed').map(({ data }) => [`${data.session}@${data.epoch}`, data.by]),
  );
  const children = Map.groupBy(told, ({ data }) => data.return!.parent);
  const tooLate = new Set(
    of('turn.skipped').flatMap(({ data }) => (data.reason === 'too-late' ? data.turnId : [])),
  );
  const rewards = Map.groupBy(given.values(), ({ data }) => data.interactionId);
  const judged = new Map(of('judgment.reached').map(({ data }) => [data.turnId, data]));

  for (const { data } of told) {
    const { turnId, score } = data;
    const { own, parent, discount } = data.return!;
    const below = (children.get(turnId) ?? []).map((child) => child.data.score);
    const mean = below.length === 0 ? 0 : below.reduce((a, b) => a + b) / below.length;
    if (Math.abs(score - ((own ?? 0) + discount * mean)) > 1e-9) wrong.push(`${turnId} is told ${score}`);
    const ended = place.get(closedBy.get(epochs.get(turnId)!)!)!;
    const inTime = (rewards.get(turnId) ?? []).filter(
      ({ id, data: { key } }) =>
        place.get(id)! < ended && key === interactions.get(turnId)!.data.key && !isStale.has(id),
    );
    const last = inTime.toSorted((a, b) => place.get(a.id)! - place.get(b.id)!).at(-1);
    if (own !== null && data.given !== last?.id) wrong.push(`${turnId} is not told its last reward`);
    const advantages = (children.get(turnId) ?? []).map((child) => child.data.advantage);
    if (advantages.some((one) => (one === undefined) !== (data.advantage === undefined)))
      wrong.push(`not all that goes on from ${turnId} has an advantage, or all but it`);
    const verdict = judged.get(turnId);
    if (
      verdict !== undefined &&
      verdict.by !== `${turnId}/withdrawn` && // deleted before
      (verdict.source !== 'reward' || verdict.score !== score || verdict.advantage !== data.advantage)
    )
      wrong.push(`the return of ${turnId} did not settle it`);
    if (parent === null) continue;
    if (epochs.get(parent) !== epochs.get(turnId)) wrong.push(`${turnId} goes on from another session`);
    const [mine, above] = [interactions.get(turnId)!, interactions.get(parent)!];
    const longer = told.find(
      (other) =>
        epochs.get(other.data.turnId) === epochs.get(turnId) &&
        !tooLate.has(other.data.turnId) &&
        extendsIt(mine, interactions.get(other.data.turnId)!) &&
        wordsOf(interactions.get(other.data.turnId)!).length > wordsOf(above).length,
    );
    const goesOn = extendsIt(mine, above) || extendsIt(mine, withoutTools(above));
    if (!isCut(mine) && !goesOn) wrong.push(`${turnId} does not go on from ${parent}`);
    if (!isCut(mine) && longer !== undefined) wrong.push(`${turnId} goes on from ${longer.data.turnId}`);
  }
  return wrong;
};

/** Ids of what first came a day or more behind its lane, which counts for nothing. A sweeper's timers move no lane. */
function behindTheirLane(log: readonly (readonly ClawLoopEvent[])[]): ReadonlySet<string> {
  const latest = new Map<string, number>();
  const [stale, seen] = [new Set<string>(), new Set<string>()];
  for (const event of log.flat()) {
    if (event.type === 'session.ended' && event.data.reason === 'idle') continue;
    const [time, before] = [Date.parse(event.time), latest.get(event.subject) ?? 0];
    if (time < before - DAY_MS && !seen.has(event.id)) stale.add(event.id);
    seen.add(event.id);
    latest.set(event.subject, Math.max(time, before));
  }
  return stale;
}

/** Words that tell conversations apart: heartbeats are made anew. */
const wordsOf = ({ data }: InteractionCompleted) => data.messages.map(wordOf);
const wordOf = ({ content, tool_calls: [call] = [] }: ChatMessage) => String(content ?? call?.function.name);
/** A client may leave out results of tools when it goes on. */
const withoutTools = ({ data, ...event }: InteractionCompleted): InteractionCompleted => ({
  ...event,
  data: { ...data, messages: data.messages.filter(({ role }) => role !== 'tool') },
});
const extendsIt = (one: InteractionCompleted, above: InteractionCompleted): boolean => {
  const before = [...wordsOf(above), wordOf(above.data.answer)];
  return before.every((word, index) => wordsOf(one)[index] === word);
};
const isCut = (one: InteractionCompleted) => wordsOf(one)[0]?.startsWith('The conversation history') === true;
