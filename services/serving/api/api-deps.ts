import type { EventLog } from '../../../shared/log/event-log.ts';
import type { AnswerDeps } from '../answer/answer-request.ts';
import type { HeadView } from '../heads/head-view.ts';
import type { Access } from '../http/access.ts';
import type { Leases } from '../sessions/leases.ts';
import type { NamedSessions } from '../sessions/named-sessions.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Conversations } from './responses/conversations.ts';

/** Everything the routes need from the process: main.ts opens it and passes it to all of them. */
export type ApiDeps = AnswerDeps & {
  readonly access: Access;
  readonly conversations: Conversations;
  /** for requests of operators; the recorder records answers */
  readonly log: Pick<EventLog, 'append' | 'read' | 'follow' | 'ends'>;
  /** heads by the log, also if the engine serves only the base */
  readonly lineage: Pick<HeadView, 'of' | 'reachEnd'>;
  /** sessions of the session protocol */
  readonly sessions: Sessions;
  /** environments of sessions */
  readonly leases: Leases;
  /** open sessions by name, for clients that end a session explicitly */
  readonly namedSessions: Pick<NamedSessions, 'lanesOf' | 'ended'>;
};
