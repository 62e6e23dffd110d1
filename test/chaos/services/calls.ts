import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import type { CrowdRecord, Failure, Given } from './crowd-record.ts';

/** ms without an answer after which a client gives up; every planned outage is shorter */
const PATIENCE_MS = 120_000;

export type Calls = {
  /** The caller with this access key. */
  readonly as: (apiKey: string) => Caller;
  readonly record: () => CrowdRecord;
  readonly openRequests: () => number;
  readonly openStreams: () => number;
};
export type Caller = {
  /** Undefined: no answer after all retries. */
  readonly ask: (
    messages: Messages,
    session: string | undefined,
    isStreamed: boolean,
  ) => Promise<Given | undefined>;
  readonly rate: (id: string, rating: 'up' | 'down') => Promise<void>;
  readonly end: (session: string) => Promise<void>;
};

/** The growing record of all callers. */
const emptyTally = () => ({
  given: [] as Given[],
  failures: [] as Failure[],
  feedback: [] as string[],
  ended: [] as string[],
  unanswered: [] as string[],
  open: { requests: 0, streams: 0 },
});
type Tally = ReturnType<typeof emptyTally>;

/**
 * Requests through the official client, repeated until they succeed, as people with a broken connection do. What they
 * received is recorded, for comparison with the log.
 */
export function openCalls(url: string): Calls {
  const tally = emptyTally();
  const fetch = watchedFetch(tally);
  return {
    as: (apiKey) => callerOf(new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 3, fetch }), tally),
    record: () => tally,
    openRequests: () => tally.open.requests,
    openStreams: () => tally.open.streams,
  };
}

/** Records every failed request, including those that the client retries automatically. */
const watchedFetch =
  ({ open, failures }: Tally): typeof fetch =>
  async (input, init) => {
    const from = performance.now();
    open.requests += 1;
    try {
      const response = await fetch(input, init);
      if (response.status >= 400 && !isOver(input, response)) {
        const what = `${response.status} ${(await response.clone().text()).slice(0, 300)}`;
        failures.push({ from, to: performance.now(), what });
      }
      return response;
    } catch (error) {
      failures.push({ from, to: performance.now(), what: textOf(error) });
      throw error;
    } finally {
      open.requests -= 1;
    }
  };

function callerOf(client: OpenAI, tally: Tally): Caller {
  const { given, feedback, ended, unanswered } = tally;
  /** Retries until it succeeds, or patience ends. */
  const persist = async <Result>(
    what: string,
    attempt: () => Promise<Result>,
  ): Promise<Result | undefined> => {
    const began = performance.now();
    while (performance.now() - began < PATIENCE_MS) {
      try {
        return await attempt();
      } catch {
        await delay(200);
      }
    }
    unanswered.push(what);
    return undefined;
  };
  const post = async (path: string, body: object): Promise<void> => void (await client.post(path, { body }));
  /** If the answer to an earlier try was lost, the session has already ended. */
  const end = (session: string): Promise<boolean> =>
    post('/sessions/end', { session }).then(
      () => true,
      (error) => {
        if (error instanceof OpenAI.NotFoundError) return true;
        throw error;
      },
    );
  return {
    ask: async (messages, session, isStreamed) => {
      const answer = await persist('chat', () =>
        (isStreamed ? askStreamed : askPlain)(client, tally, messages, session),
      );
      if (answer !== undefined) given.push(answer);
      return answer;
    },
    rate: async (id, rating) => {
      const send = () => post('/feedback', { completion_id: id, rating }).then(() => true);
      if (await persist('feedback', send)) feedback.push(id);
    },
    end: async (session) => {
      if (await persist('session', () => end(session))) ended.push(session);
    },
  };
}

const bodyOf = (messages: Messages) => ({ model: 'clawloop', messages: [...messages], max_tokens: 48 });
const optionsOf = (session: string | undefined) =>
  session === undefined ? {} : { headers: { 'x-session-id': session } };

async function askPlain(
  client: OpenAI,
  _: Tally,
  messages: Messages,
  session: string | undefined,
): Promise<Given> {
  const from = performance.now();
  const answer = await client.chat.completions.create(bodyOf(messages), optionsOf(session));
  const [choice] = answer.choices;
  return {
    id: answer.id,
    at: performance.now(),
    tookMs: performance.now() - from,
    text: choice!.message.content ?? '',
    finishReason: choice!.finish_reason,
    isRecorded: markOf(answer).recorded === true,
  };
}

async function askStreamed(
  client: OpenAI,
  { open, failures }: Tally,
  messages: Messages,
  session: string | undefined,
): Promise<Given> {
  const from = performance.now();
  open.streams += 1;
  try {
    const body = { ...bodyOf(messages), stream: true } as const;
    const read = await readStream(await client.chat.completions.create(body, optionsOf(session)));
    return { ...read, at: performance.now(), tookMs: performance.now() - from };
  } catch (error) {
    failures.push({ from, to: performance.now(), what: `stream: ${textOf(error)}` });
    throw error;
  } finally {
    open.streams -= 1;
  }
}

export type Messages = readonly OpenAI.ChatCompletionMessageParam[];
type Mark = { readonly recorded?: boolean };
const markOf = (body: object): Mark => (body as { readonly clawloop?: Mark }).clawloop ?? {};

/** @throws if the stream ends without a finish reason: the answer is then not whole */
async function readStream(
  stream: AsyncIterable<OpenAI.ChatCompletionChunk>,
): Promise<Omit<Given, 'at' | 'tookMs'>> {
  let [id, text] = ['', ''];
  let finishReason: string | undefined;
  let isRecorded = false;
  try {
    for await (const chunk of stream) {
      id = chunk.id;
      text += chunk.choices[0]?.delta.content ?? '';
      finishReason = chunk.choices[0]?.finish_reason ?? finishReason;
      isRecorded ||= markOf(chunk).recorded === true;
    }
  } catch (error) {
    if (finishReason === undefined) throw error;
  }
  if (finishReason === undefined) throw new Error('the stream ended without a finish reason');
  return { id, text, finishReason, isRecorded };
}

/** Whether the session to end had already ended. */
const isOver = (input: Parameters<typeof fetch>[0], { status }: Response): boolean =>
  status === 404 && String(input).endsWith('/sessions/end');

function textOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
