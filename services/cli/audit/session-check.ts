import type { SessionClosed } from '../../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import type { Audited, Tell } from './audited.ts';
import type { ConversationBook, Said } from './conversation-book.ts';

type Ended = Extract<Said, { readonly kind: 'session.ended' }>;
type Interaction = Extract<Said, { readonly kind: 'interaction.completed' }>;

/** Offsets in `conversations`, by access key and session. */
type LaneWalk = {
  /** of the latest event that is known to open the session */
  readonly opened: Map<string, number>;
  /** of the latest event that is known to belong to it */
  readonly touched: Map<string, number>;
  /** by access key: of the latest event whose session is unknown */
  readonly unknown: Map<string, number>;
};

const nameOf = (key: string, session: string) => `${key} ${session}`;

/**
 * A session is closed by the event that ended it, in the epoch that an event of its own began, and every
 * interaction of it has an outcome then. Feed it conversations, then turns.
 */
export function createSessionCheck(tell: Tell, book: ConversationBook) {
  /** by interaction */
  const sessionOf = new Map<string, string>();
  const completed = new Set<string>();
  const outcomes = new Set<string>();
  /** by access key and session: offsets in `conversations` of what closed it */
  const closings = new Map<string, number[]>();
  /** by epoch: the event that closed it */
  const closedBy = new Map<string, string>();
  const closers = new Set<string>();
  /** ends of sessions that gave turns their outcome */
  const enders = new Set<string>();

  const onTurn = ({ data }: TurnCompleted | TurnSkipped): void => {
    const { turnId, session, epoch } = data;
    if (!('reason' in data && data.reason === 'too-late')) outcomes.add(turnId);
    if (book.get(data.by)?.kind === 'session.ended') enders.add(data.by);
    if (session === undefined || epoch === undefined) return;
    sessionOf.set(turnId, session);
    if (!('reason' in data)) completed.add(turnId);
    const [first, own] = [book.get(epoch), book.get(turnId)];
    if (first === undefined)
      tell(`${turnId} stands in the epoch ${epoch}, which no event began`, 'conversations');
    else if (own !== undefined && (first.lane !== own.lane || first.at.offset > own.at.offset))
      tell(`${turnId} stands in the epoch ${epoch}, which began elsewhere`);
  };

  const onClosed = ({ data, time }: SessionClosed): void => {
    const { lane, key, session, epoch, discard = false, by } = data;
    const wrong = (what: string) => tell(`session ${session} was closed by ${by}, which ${what}`);
    const end = book.get(by);
    closedBy.set(epoch, by);
    closers.add(by);
    if (book.get(epoch) === undefined)
      tell(`session ${session} was closed in the epoch ${epoch}, which no event began`, 'conversations');
    if (end === undefined) {
      tell(`session ${session} was closed by ${by}, which stands nowhere`, 'conversations');
      return;
    }
    if (end.kind !== 'session.ended') {
      wrong('ended no session');
      return;
    }
    const name = nameOf(key, session);
    const offsets = closings.get(name);
    if (offsets === undefined) closings.set(name, [end.at.offset]);
    else offsets.push(end.at.offset);
    if (end.data.session !== session) wrong(`ended session ${end.data.session}`);
    if (end.key !== key || end.lane !== lane) wrong('is of another access key or lane');
    if ((end.data.discard ?? false) !== discard) wrong(`${discard ? 'keeps' : 'discards'} its turns`);
    if (end.data.reason === 'idle' && end.data.epoch !== epoch) wrong(`saw the epoch ${end.data.epoch}`);
    if (end.time !== time) wrong('bears another time');
  };

  const on = ({ event }: Audited): void => {
    if (event.type === 'turn.completed' || event.type === 'turn.skipped') onTurn(event);
    else if (event.type === 'session.closed') onClosed(event);
  };

  /** Every end of an open session closes it. */
  const checkEnd = (end: Ended, { opened, touched, unknown }: LaneWalk): void => {
    const { session, key, reason, epoch, last } = end.data;
    const name = nameOf(key, session);
    if (reason === 'explicit') {
      const open = opened.get(name);
      if (epoch !== undefined || last !== undefined)
        tell(`${end.id} ends session ${session} on request, and yet names what a timer saw`);
      if (open === undefined || closers.has(end.id)) return;
      if (!(closings.get(name) ?? []).some((at) => at > open && at <= end.at.offset))
        tell(`${end.id} ended session ${session}, and nothing closed it`, 'turns');
      return;
    }
    const seen = last === undefined ? undefined : book.get(last);
    if (seen === undefined) {
      tell(`${end.id} saw ${last} last in session ${session}, which stands nowhere`, 'conversations');
      return;
    }
    const latest = Math.max(touched.get(name) ?? -1, unknown.get(key) ?? -1);
    if (latest <= seen.at.offset && closedBy.get(epoch ?? '') === undefined)
      tell(`${end.id} ended session ${session}, and nothing closed its epoch ${epoch}`, 'turns');
  };

  const walk = (said: Said, lane: LaneWalk): void => {
    const about = said.kind === 'feedback.given' ? said.data.interactionId : said.id;
    const session = said.kind === 'session.started' ? said.session : sessionOf.get(about);
    if (session === undefined) lane.unknown.set(said.key, said.at.offset);
    else {
      lane.touched.set(nameOf(said.key, session), said.at.offset);
      const opens = said.kind === 'session.started' || completed.has(said.id);
      if (opens && said.counts) lane.opened.set(nameOf(said.key, session), said.at.offset);
    }
  };

  /** An interaction of a closed session has an outcome. */
  const checkOutcome = (answer: Interaction, seenLast: ReadonlyMap<string, string>): void => {
    const wrong = (what: string) => tell(`${answer.id} has no outcome, although ${what}`, 'turns');
    const [own, last] = [closedBy.get(answer.id), seenLast.get(answer.id)];
    if (own !== undefined) {
      wrong(`${own} closed the session that it began`);
      return;
    }
    if (last !== undefined) {
      wrong(`${last} closed its session after it`);
      return;
    }
    if (answer.session === undefined) return;
    const after = closings.get(nameOf(answer.key, answer.session))?.some((at) => at > answer.at.offset);
    if (after) wrong(`its session ${answer.session} was closed after it`);
  };

  const finish = (): void => {
    for (const by of enders)
      if (!closers.has(by) && book.get(by)?.counts)
        tell(`${by} ended turns of its session, and nothing closed it`, 'turns');
    const seenLast = new Map<string, string>();
    for (const lane of book.lanes()) {
      const offsets: LaneWalk = { opened: new Map(), touched: new Map(), unknown: new Map() };
      for (const said of lane) {
        if (said.kind === 'response.deleted' || said.kind === 'interaction.withdrawn') continue;
        if (said.kind !== 'session.ended') walk(said, offsets);
        else if (said.counts) {
          checkEnd(said, offsets);
          const { epoch = '', last } = said.data;
          if (last !== undefined && closedBy.get(epoch) === said.id) seenLast.set(last, said.id);
        }
      }
    }
    for (const said of book.all())
      if (said.kind === 'interaction.completed' && said.live && said.counts && !outcomes.has(said.id))
        checkOutcome(said, seenLast);
  };
  return { on, finish };
}
