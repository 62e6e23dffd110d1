import { z } from 'zod';
import { defined } from '../shared/lang/defined.ts';

/** ms to wait for an answer on an open connection */
const PATIENCE_MS = 60_000;

const Started = z.looseObject({ session_id: z.string(), api_key: z.string() });
const Rewarded = z.looseObject({ session_id: z.string(), interaction_id: z.string() });
const GuardedChoices = z.looseObject({ count: z.number(), nats: z.number(), most: z.number() });
const Ended = z.looseObject({ interaction_count: z.int(), guarded_choices: GuardedChoices.optional() });
const ErrorBody = z.looseObject({
  error: z.looseObject({ message: z.string(), code: z.string().nullish() }),
});

const Listed = z.object({
  session_id: z.string(),
  task_id: z.string().nullish(),
  state: z.string(),
  started_at: z.string(),
  ended_at: z.string().nullish(),
  end_reason: z.string().nullish(),
  interaction_count: z.int(),
  rewards: z.array(z.object({ interaction_id: z.string(), reward: z.number() })),
});
const ListedSessions = z.looseObject({ data: z.array(Listed) });

type ListedSession = z.output<typeof Listed>;
export type StartedSession = { readonly session: string; readonly key: string };

const Step = z.object({
  interaction_id: z.string(),
  continues: z.string().nullable(),
  observed: z.array(z.string()),
  reward: z.number().nullable(),
  votes: z.enum(['none', 'pending', 'complete', 'missing']),
  score: z.number().nullable(),
});
const Steps = z.looseObject({ steps: z.array(Step) });

/** An answer of a session, and the votes on it. */
export type SessionStep = {
  readonly interaction: string;
  /** the step that it continues; null: it begins a conversation */
  readonly continues: string | null;
  /** hash of each message that it answers (shared/chat/observed.ts) */
  readonly observed: readonly string[];
  /** its own reward; null: none */
  readonly reward: number | null;
  /** none: nobody votes on it; missing: the judge gave up */
  readonly votes: 'none' | 'pending' | 'complete' | 'missing';
  /** mean of the valid votes; null while they are pending or missing */
  readonly score: number | null;
};

/** The result of a request. */
export type Answer<Value> =
  | { readonly kind: 'answer'; readonly value: Value }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** error code of the server; empty if it sent none */
      readonly code: string;
      readonly message: string;
      /** s to wait before a retry, if the server says so */
      readonly retryAfter: number | undefined;
    }
  | { readonly kind: 'silent'; readonly reason: string };

/** An ended session. */
export type EndedSession = {
  /** number of its answers */
  readonly answers: number;
  /**
   * choices that a format left between several tokens: -ln p of the sampled ones, and the same if all allowed tokens
   * were equally likely; undefined: there were none
   */
  readonly guarded?: { readonly count: number; readonly nats: number; readonly most: number } | undefined;
};

/** How a step compares with those of other attempts. */
export type ComparedStep = {
  readonly interaction: string;
  /** of this step alone */
  readonly advantage?: number | undefined;
  /** what the votes on it are compared with; absent: they do not count */
  readonly process?: { readonly baseline: number; readonly scale: number } | undefined;
};

export type Reward = {
  /** -1 to 1 */
  readonly reward: number;
  /** relative to other attempts at the task */
  readonly advantage?: number | undefined;
  /** default: the last completed one */
  readonly interaction?: string | undefined;
  /** of the session, compared with those of other attempts; replaces an earlier list */
  readonly steps?: readonly ComparedStep[] | undefined;
};

/** Options of a session. */
export type SessionTerms = {
  /** votes of the judge on each step, and their weight beside the reward */
  readonly process?: { readonly votes: number; readonly weight: number } | undefined;
  /** attempt: all samples of the session together weigh as much as one */
  readonly weigh?: 'attempt' | undefined;
};

type StartOptions = SessionTerms & {
  /** A session key: its session ends and the next one gets the same key and, by default, task and adapter. */
  readonly refresh?: string | undefined;
  /** selects the adapter: `clawloop:bob` */
  readonly model?: string | undefined;
};

export type SessionClient = {
  readonly start: (task: string | undefined, options?: StartOptions) => Promise<Answer<StartedSession>>;
  /** `value`: id of the rewarded interaction */
  readonly reward: (sessionKey: string, reward: Reward) => Promise<Answer<string>>;
  /** The steps of the open session of a key. */
  readonly steps: (sessionKey: string) => Promise<Answer<readonly SessionStep[]>>;
  /** `discard`: nothing of the session trains */
  readonly end: (
    sessionKey: string,
    options?: { readonly discard?: boolean | undefined },
  ) => Promise<Answer<EndedSession>>;
  /** Ends a session with the access key that opened it, in case the session key is lost. */
  readonly endNamed: (
    session: string,
    options?: { readonly discard?: boolean | undefined },
  ) => Promise<Answer<EndedSession>>;
  /** Sessions that the access key opened, latest first. */
  readonly list: () => Promise<Answer<readonly ListedSession[]>>;
};

/**
 * A client of the session protocol (docs/use/sessions.md). It does not throw on refusals or network errors.
 *
 * @param url of the endpoint, with or without /v1
 * @param accessKey opens sessions; undefined: the server requires none
 */
export function createSessionClient(
  url: string,
  accessKey: string | undefined,
  signal?: AbortSignal,
): SessionClient {
  const base = originOf(url);
  const post = (path: string, key: string | undefined, body: object) =>
    request(`${base}${path}`, key, body, signal);
  const end = async (key: string | undefined, body: object) =>
    mapAnswer(
      await post('/rl/end_session', key, body),
      Ended,
      ({ interaction_count: answers, guarded_choices: guarded }): EndedSession => ({ answers, guarded }),
    );
  return {
    start: async (task, { refresh, model, process, weigh } = {}) =>
      mapAnswer(
        await post('/rl/start_session', accessKey, {
          task_id: task ?? null,
          api_key: refresh ?? null,
          ...defined({ model, process, weigh }),
        }),
        Started,
        ({ session_id, api_key }) => ({ session: session_id, key: api_key }),
      ),
    reward: async (sessionKey, { reward, advantage, interaction, steps }) =>
      mapAnswer(
        await post('/rl/set_reward', sessionKey, {
          reward,
          interaction_id: interaction ?? null,
          ...defined({ advantage, steps: steps?.map(sentStep) }),
        }),
        Rewarded,
        ({ interaction_id }) => interaction_id,
      ),
    steps: async (sessionKey) =>
      mapAnswer(await request(`${base}/rl/steps`, sessionKey, undefined, signal), Steps, ({ steps }) =>
        steps.map(({ interaction_id: interaction, ...step }): SessionStep => ({ interaction, ...step })),
      ),
    end: (sessionKey, { discard = false } = {}) => end(sessionKey, discard ? { discard } : {}),
    endNamed: (session, { discard = false } = {}) => end(accessKey, { session_id: session, discard }),
    list: async () =>
      mapAnswer(
        await request(`${base}/rl/sessions`, accessKey, undefined, signal),
        ListedSessions,
        ({ data }) => data,
      ),
  };
}

const sentStep = ({ interaction, ...step }: ComparedStep) => ({ interaction_id: interaction, ...step });

/** The address without the /v1 of OpenAI clients; every chat path also works without it. */
export const originOf = (url: string): string => url.replace(/\/+$/, '').replace(/\/v1$/, '');

/** Sends a JSON request with a key; GET if `body` is undefined. */
export async function request(
  url: string,
  key: string | undefined,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<Answer<unknown>> {
  const timeout = AbortSignal.timeout(PATIENCE_MS);
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: defined({
        'content-type': body === undefined ? undefined : 'application/json',
        authorization: key === undefined ? undefined : `Bearer ${key}`,
      }),
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const value: unknown = await response.json().catch(() => undefined);
    return response.ok ? { kind: 'answer', value } : refusalOf(response, value);
  } catch (error) {
    return { kind: 'silent', reason: reasonOf(error as Error) };
  }
}

function refusalOf(response: Response, body: unknown): Answer<never> {
  const error = ErrorBody.safeParse(body).data?.error;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    kind: 'refused',
    status: response.status,
    code: error?.code ?? '',
    message: error?.message ?? `status ${response.status}`,
    retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
  };
}

/** fetch only says `fetch failed`; the reason is in its cause. */
const reasonOf = (error: Error): string =>
  error.name === 'TimeoutError'
    ? `no response within ${PATIENCE_MS / 1000} s`
    : ((error.cause as Error | undefined)?.message ?? error.message);

/** Reads the body of an answer. Another shape means another kind of server. */
export function mapAnswer<Schema extends z.ZodType, Value>(
  answer: Answer<unknown>,
  schema: Schema,
  read: (body: z.output<Schema>) => Value,
): Answer<Value> {
  if (answer.kind !== 'answer') return answer;
  const parsed = schema.safeParse(answer.value);
  return parsed.success
    ? { kind: 'answer', value: read(parsed.data) }
    : { kind: 'silent', reason: 'the server is not a ClawLoop with sessions' };
}
