import { MOST_REVISIONS } from '../../../../shared/events/sample-id.ts';
import { timeOf } from '../facts.ts';
import { firstPlaces, type History, type Law } from './history.ts';

const DAY_MS = Date.parse(timeOf(400)) - Date.parse(timeOf(0));

/**
 * Feedback before settlement decides; what comes later is late. A reward session is never settled by votes.
 */
export const feedbackDecides: Law = ({ world, of, interactions }) => {
  const wrong: string[] = [];
  const place = firstPlaces(world.records.turns);
  const onTurn = Map.groupBy(of('turn.feedback'), ({ data }) => data.turnId);
  const votes = Map.groupBy(of('vote.cast'), ({ data }) => data.turnId);
  for (const { data } of of('judgment.reached')) {
    const { turnId, by, source, score, needs } = data;
    const settledAt = place.get(by)!;
    const facts = onTurn.get(turnId) ?? [];
    if (facts.some(({ id }) => place.get(id)! < settledAt))
      wrong.push(`earlier feedback did not decide ${turnId}`);
    if (
      (source === 'feedback' || source === 'reward') &&
      facts.find(({ id }) => id === by)?.data.score !== score
    )
      wrong.push(`wrong score of ${turnId}`);
    const { settle } = interactions.get(turnId)!.data;
    const cast = new Set(
      (votes.get(turnId) ?? []).filter(({ id }) => place.get(id)! < settledAt).map(({ id }) => id),
    );
    if (source === 'unavailable' && settle === 'votes' && needs <= cast.size)
      wrong.push(`all votes were in for ${turnId}`);
    if (settle === 'reward' && source === 'votes') wrong.push(`votes settled ${turnId} of a reward session`);
  }
  return wrong;
};

/** Feedback that was given before its turn was complete, and was not a day late, decides. */
export const earlyFeedbackDecides: Law = (history) => {
  const { world, of, interactions } = history;
  const { conversations } = world.records;
  const place = firstPlaces(conversations);
  const completed = new Map(of('turn.completed').map(({ data }) => [data.turnId, data]));
  const judged = new Map(of('judgment.reached').map(({ data }) => [data.turnId, data]));
  const rewarded = new Set(
    of('turn.feedback').flatMap(({ data }) => (data.return?.own == null ? [] : [data.turnId])),
  );
  const clocks = conversations.map((log) => {
    let latest = 0;
    return log.map(({ time }) => (latest = Math.max(latest, Date.parse(time))));
  });
  const discarded = new Set(
    of('session.closed').flatMap(({ data }) => (data.discard ? [`${data.session}@${data.epoch}`] : [])),
  );
  return of('feedback.given').flatMap((event) => {
    const { interactionId, key } = event.data;
    const turn = completed.get(interactionId);
    const own = interactions.get(interactionId);
    if (turn === undefined || own === undefined || own.data.key !== key) return [];
    if (place.get(event.id)! >= place.get(turn.by)!) return [];
    if (own.data.settle === 'reward' && discarded.has(`${turn.session}@${turn.epoch}`)) return [];
    const seen = Math.max(place.get(event.id)!, place.get(interactionId)!);
    const clock = clocks[partitionOfEvent(history, event.id)]![seen]!;
    const isLate = (time: string) => clock - Date.parse(time) > DAY_MS;
    if (isLate(event.time) || isLate(own.time)) return []; // may not be matched any more
    const decided =
      own.data.settle === 'reward'
        ? rewarded.has(interactionId)
        : judged.get(interactionId)?.source === 'feedback';
    return decided ? [] : [`early feedback did not decide ${interactionId}`];
  });
};

const partitionOfEvent = ({ world }: History, id: string) =>
  world.records.conversations.findIndex((log) => log.some((event) => event.id === id));

/** Whatever was heard before it, and however often they changed their mind: a person's last thumb is the verdict. */
export const lastThumbStands: Law = ({ world, of, interactions }) => {
  const place = firstPlaces(world.records.turns);
  const thumbs = Map.groupBy(of('turn.feedback'), ({ data }) => data.turnId);
  const revised = Map.groupBy(of('judgment.revised'), ({ data }) => data.turnId);
  const withdrawn = new Set(of('turn.withdrawn').map(({ data }) => data.turnId));
  /** ms since 1970: the latest time that was told in a partition up to a fact */
  const clockAt = (id: string): number => {
    const log = world.records.turns.find((partition) => partition.some((event) => event.id === id))!;
    return Math.max(...log.slice(0, place.get(id)! + 1).map((event) => Date.parse(event.time)));
  };
  return of('judgment.reached').flatMap(({ time, data }) => {
    const { turnId, score } = data;
    const given = (thumbs.get(turnId) ?? []).toSorted((a, b) => place.get(a.id)! - place.get(b.id)!);
    const last = given.at(-1);
    const revisions = revised.get(turnId) ?? [];
    const isBounded = revisions.length >= MOST_REVISIONS || withdrawn.has(turnId);
    if (last === undefined || isBounded || interactions.get(turnId)!.data.settle === 'reward') return [];
    if (clockAt(last.id) - Date.parse(time) > DAY_MS) return []; // a judgment is remembered for a day
    const verdicts = revisions.filter((one) => one.data.score !== null).sort((a, b) => a.data.n - b.data.n);
    const stands = verdicts.at(-1)?.data.score ?? score;
    return Math.sign(stands ?? 0) === Math.sign(last.data.score)
      ? []
      : [`${turnId} stands at ${stands}, and the last thumb says ${last.data.score}`];
  });
};
