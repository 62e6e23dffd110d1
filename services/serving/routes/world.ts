import type { Logger } from '../../../shared/service/logger.ts';
import type { Access } from '../access.ts';
import type { AnswerIds } from '../chat/answer-ids.ts';
import type { ServingConfig } from '../config.ts';
import type { Engine } from '../engine/engine.ts';
import type { AdapterHead, HeadView } from '../head-view.ts';
import type { KeyQuota } from '../key-quota.ts';
import type { ServingMetrics } from '../metrics.ts';
import type { NamedSessions } from '../named-sessions.ts';
import type { PerKeyLimit } from '../per-key-limit.ts';
import type { RecordedAnswers } from '../record/recorded-answers.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Conversations } from '../responses/conversations.ts';
import type { Sessions } from '../rl/sessions.ts';

/** What the routes work with. */
export type ServingWorld = {
  readonly config: ServingConfig;
  readonly engine: Engine;
  readonly recorder: Recorder;
  readonly access: Access;
  readonly answers: Pick<RecordedAnswers, 'claim'>;
  /** Why no version of an adapter is in service and none will be soon; undefined while one is, or is loaded. */
  readonly unserved: (adapter: string) => string | undefined;
  readonly head: Pick<HeadView, 'reachEnd'> & {
    readonly of: (adapter: string) => Pick<AdapterHead, 'find' | 'kept'>;
  };
  /** Aborts when open answers are to be cut short, with the reason `serverEnds`. */
  readonly ending: AbortSignal;
  readonly limit: PerKeyLimit;
  readonly quota: KeyQuota;
  readonly ids: AnswerIds;
  /** What keeps a key's part of the engine's cache apart; undefined: it shares it. */
  readonly cacheSaltOf: (keyId: string) => string | undefined;
  readonly conversations: Conversations;
  /** those of the session protocol */
  readonly sessions: Sessions;
  readonly namedSessions: Pick<NamedSessions, 'lanesOf' | 'ended'>;
  readonly metrics: ServingMetrics;
  readonly logger: Logger;
};
