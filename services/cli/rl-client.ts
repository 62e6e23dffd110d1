import { z } from 'zod';

/** ms until a server that took the connection counts as silent */
const PATIENCE_MS = 60_000;

const Started = z.looseObject({ session_id: z.string(), api_key: z.string() });
const Rewarded = z.looseObject({ session_id: z.string(), interaction_id: z.string() });
const Ended = z.looseObject({ interaction_count: z.int() });
const Told = z.looseObject({ error: z.looseObject({ message: z.string(), code: z.string().nullish() }) });

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

export type ListedSession = z.output<typeof Listed>;
export type StartedSession = { readonly session: string; readonly key: string };

/** What the server made of a request. */
export type Answer<Value> =
  | { readonly kind: 'answer'; readonly value: Value }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** of the server's error table; empty where it told none */
      readonly code: string;
      readonly message: string;
      /** s; what it asks to wait before the next try */
      readonly retryAfter: number | undefined;
    }
  | { readonly kind: 'silent'; readonly reason: string };

export type Reward = {
  /** -1 to 1 */
  readonly reward: number;
  /** against other attempts at the task */
  readonly advantage?: number | undefined;
  /** the last completed one unless told */
  readonly interaction?: string | undefined;
};

export type StartOptions = {
  /**
   * A session key; its session is ended, and the next one goes by the same key, and by the same task and
   * adapter where none is given.
   */
  readonly refresh?: string | undefined;
  /** names the adapter: `clawloop:bob` */
  readonly model?: string | undefined;
};

export type SessionClient = {
  readonly start: (task: string | undefined, options?: StartOptions) => Promise<Answer<StartedSession>>;
  /** `value`: id of the interaction that it went to. */
  readonly reward: (sessionKey: string, reward: Reward) => Promise<Answer<string>>;
  /** `value`: interactions of the session. `discard`: none of them trains. */
  readonly end: (
    sessionKey: string,
    options?: { readonly discard?: boolean | undefined },
  ) => Promise<Answer<number>>;
  /** The same by the access key that opened it, where the session key is lost. */
  readonly endNamed: (
    session: string,
    options?: { readonly discard?: boolean | undefined },
  ) => Promise<Answer<number>>;
  /** Those that the access key opened, latest first. */
  readonly list: () => Promise<Answer<readonly ListedSession[]>>;
};

/**
 * The session protocol of a server; docs/sessions.md. Nothing is thrown for what a server may answer.
 *
 * @param url of the endpoint, with or without /v1
 * @param accessKey opens sessions; undefined where the server needs none
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
    mapAnswer(await post('/rl/end_session', key, body), Ended, ({ interaction_count: count }) => count);
  return {
    start: async (task, { refresh, model } = {}) =>
      mapAnswer(
        await post('/rl/start_session', accessKey, {
          task_id: task ?? null,
          api_key: refresh ?? null,
          ...(model === undefined ? {} : { model }),
        }),
        Started,
        ({ session_id, api_key }) => ({ session: session_id, key: api_key }),
      ),
    reward: async (sessionKey, { reward, advantage, interaction }) =>
      mapAnswer(
        await post('/rl/set_reward', sessionKey, {
          reward,
          interaction_id: interaction ?? null,
          ...(advantage === undefined ? {} : { advantage }),
        }),
        Rewarded,
        ({ interaction_id }) => interaction_id,
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

/** The address without the /v1 that OpenAI's clients want: every chat path is served without it too. */
export const originOf = (url: string): string => url.replace(/\/+$/, '').replace(/\/v1$/, '');

/** One request with a key, as JSON. A GET where `body` is undefined. */
export async function request(
  url: string,
  key: string | undefined,
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<Answer<unknown>> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    });
    const value: unknown = await response.json().catch(() => undefined);
    return response.ok ? { kind: 'answer', value } : refusalOf(response, value);
  } catch (error) {
    return { kind: 'silent', reason: reasonOf(error as Error) };
  }
}

function refusalOf(response: Response, body: unknown): Answer<never> {
  const told = Told.safeParse(body);
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return {
    kind: 'refused',
    status: response.status,
    code: told.data?.error.code ?? '',
    message: told.data?.error.message ?? `status ${response.status}`,
    retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
  };
}

/** fetch says `fetch failed`; why stands in its cause. */
const reasonOf = (error: Error): string =>
  error.name === 'TimeoutError'
    ? `nothing came for ${PATIENCE_MS / 1000} s`
    : ((error.cause as Error | undefined)?.message ?? error.message);

/** An answer of another shape is one of another server. */
export function mapAnswer<Schema extends z.ZodType, Value>(
  answer: Answer<unknown>,
  schema: Schema,
  read: (body: z.output<Schema>) => Value,
): Answer<Value> {
  if (answer.kind !== 'answer') return answer;
  const parsed = schema.safeParse(answer.value);
  return parsed.success
    ? { kind: 'answer', value: read(parsed.data) }
    : { kind: 'silent', reason: 'what answers there is no ClawLoop with sessions' };
}
