import type { InteractionCompleted } from '../../../../shared/events/interaction-completed.ts';
import { firstPlaces, type Law } from './history.ts';

/** An idle timer that is out of date ends nothing. */
export const oldTimersEndNothing: Law = ({ world, of, interactions }) => {
  const { conversations } = world.records;
  const first = firstPlaces(conversations);
  const partitionOfId = new Map(
    conversations.flatMap((log, partition) => log.map(({ id }) => [id, partition] as const)),
  );
  const timers = new Map(of('session.ended').map((event) => [event.id, event]));
  const ignored = new Set(
    of('turn.skipped').flatMap(({ data: { turnId, reason } }) =>
      reason === 'too-late' || (['side', 'deleted'].includes(reason) && isTimer(interactions.get(turnId)!))
        ? [turnId]
        : [],
    ),
  );
  return of('session.closed').flatMap(({ data: closed }) => {
    const timer = timers.get(closed.by);
    if (timer?.data.reason !== 'idle') return [];
    const [seen, said] = [first.get(timer.data.last!)!, first.get(timer.id)!];
    return [...interactions.values()]
      .filter(
        ({ id, data }) =>
          data.live && // no record says whether a pinned answer came too late
          data.key === closed.key &&
          data.session === closed.session &&
          partitionOfId.get(id) === partitionOfId.get(timer.id) &&
          first.get(id)! > seen &&
          first.get(id)! < said &&
          !ignored.has(id),
      )
      .map(({ id }) => `an old timer ended ${closed.session}: it saw ${timer.data.last}, not ${id}`);
  });
};

/** The timers of a client keep no session open. */
const isTimer = ({ data }: InteractionCompleted): boolean =>
  String(data.messages.findLast(({ role }) => role === 'user')?.content).startsWith('[OpenClaw heartbeat');

/** Nothing is matched across access keys. */
export const keysStayApart: Law = ({ of, interactions }) => {
  const wrong: string[] = [];
  const keyOf = (id: string) => interactions.get(id)?.data.key;
  const given = new Map(
    [...of('feedback.given'), ...of('session.ended')].map(({ id, data }) => [id, data.key]),
  );
  const epochs = new Map<string, string>();
  for (const { data } of of('turn.completed')) {
    if (data.from !== null && keyOf(data.from) !== keyOf(data.turnId))
      wrong.push(`next state of another key: ${data.turnId}`);
    const epoch = `${data.session}@${data.epoch}`;
    if ((epochs.get(epoch) ?? data.key) !== data.key) wrong.push(`a session of two keys: ${epoch}`);
    epochs.set(epoch, data.key);
  }
  for (const { data } of of('turn.feedback'))
    if (given.get(data.given) !== keyOf(data.turnId))
      wrong.push(`feedback of another key: ${data.given} on ${data.turnId}`);
  return wrong;
};

/** A turn belongs to one session, and a session's explicit name is kept. */
export const explicitSessionsAreKept: Law = ({ of, interactions }) =>
  of('turn.completed').flatMap(({ data }) => {
    const { session } = interactions.get(data.turnId)!.data;
    return session === undefined || session === data.session
      ? []
      : [`${data.turnId} of ${session} went to ${data.session}`];
  });
