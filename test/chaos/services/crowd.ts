import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';
import { sampleAsk } from '../../../shared/claw-nano/dialogues/ask.ts';
import { createRandom, hashOf, type Random } from '../histories/random.ts';
import type { CrowdRecord, Failure, Given } from './crowd-record.ts';

const praise = ['Perfect, thanks!', 'Great, exactly what I wanted.', 'Thanks, that is very helpful.'];
const complaints = ['No lists, please.', 'Please skip the greeting.', 'That is not what I asked for.'];
const TURNS = 4;
const THINK_MS = 1_200;
/** ms without an answer after which a client gives up; every planned outage is shorter */
const PATIENCE_MS = 120_000;

export type Crowd = {
  readonly record: () => CrowdRecord;
  readonly openRequests: () => number;
  readonly openStreams: () => number;
  /** Lets all people finish their current turn. Resolves when all have their answers. */
  readonly stop: () => Promise<CrowdRecord>;
};

type Options = { readonly url: string; readonly seed: number; readonly people: number };

/**
 * Several people who chat through the official client until `stop`. Their words follow from the seed. They record the
 * answers that they receive, for comparison with the log.
 */
export function startCrowd({ url, seed, people }: Options): Crowd {
  const given: Given[] = [];
  const failures: Failure[] = [];
  const feedback: string[] = [];
  const ended: string[] = [];
  const unanswered: string[] = [];
  const open = { requests: 0, streams: 0 };
  const stop = new AbortController();

  /** Records every failed request, including those that the client retries automatically. */
  const watchedFetch: typeof fetch = async (input, init) => {
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
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 3, fetch: watchedFetch });

  /** Retries until it succeeds, as a person with a broken connection does. */
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

  const ask = async (
    messages: Messages,
    session: string | undefined,
    isStreamed: boolean,
  ): Promise<Given> => {
    const body = { model: 'clawloop', messages: [...messages], max_tokens: 48 };
    const options = session === undefined ? {} : { headers: { 'x-session-id': session } };
    if (!isStreamed) {
      const answer = await client.chat.completions.create(body, options);
      const [choice] = answer.choices;
      return {
        id: answer.id,
        at: performance.now(),
        text: choice!.message.content ?? '',
        finishReason: choice!.finish_reason,
        isRecorded: markOf(answer).recorded === true,
      };
    }
    const from = performance.now();
    open.streams += 1;
    try {
      const stream = await client.chat.completions.create({ ...body, stream: true }, options);
      return await readStream(stream);
    } catch (error) {
      failures.push({ from, to: performance.now(), what: `stream: ${textOf(error)}` });
      throw error;
    } finally {
      open.streams -= 1;
    }
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

  const chat = async (random: Random, session: string | undefined): Promise<void> => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: sampleAsk(random.next).text },
    ];
    const turns = 1 + random.int(TURNS);
    for (let turn = 0; turn < turns && !stop.signal.aborted; turn += 1) {
      const isStreamed = random.chance(0.6);
      const answer = await persist('chat', () => ask(messages, session, isStreamed));
      if (answer === undefined) return;
      given.push(answer);
      messages.push({ role: 'assistant', content: answer.text });
      if (random.chance(0.1)) {
        const rating = random.chance(0.5) ? 'up' : 'down';
        const sent = persist('feedback', () =>
          post('/feedback', { completion_id: answer.id, rating }).then(() => true),
        );
        if (await sent) feedback.push(answer.id);
      }
      messages.push({ role: 'user', content: random.of(random.chance(0.5) ? praise : complaints) });
      await delay(random.int(THINK_MS), undefined, { signal: stop.signal }).catch(() => undefined);
    }
    if (session === undefined) return;
    if (await persist('session', () => end(session))) ended.push(session);
  };

  const live = async (person: number): Promise<void> => {
    const random = createRandom(hashOf(`${seed}/${person}`));
    for (let session = 0; !stop.signal.aborted; session += 1)
      await chat(random, random.chance(0.5) ? `chaos-${seed}-${person}-${session}` : undefined);
  };
  const running = Array.from({ length: people }, (_, person) => live(person));
  const record = (): CrowdRecord => ({ given, failures, feedback, ended, unanswered });
  return {
    record,
    openRequests: () => open.requests,
    openStreams: () => open.streams,
    stop: async () => {
      stop.abort();
      await Promise.all(running);
      return record();
    },
  };
}

type Messages = readonly OpenAI.ChatCompletionMessageParam[];
type Mark = { readonly recorded?: boolean };
const markOf = (body: object): Mark => (body as { readonly clawloop?: Mark }).clawloop ?? {};

/** @throws if the stream ends without a finish reason: the answer is then not whole */
async function readStream(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Given> {
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
  return { id, at: performance.now(), text, finishReason, isRecorded };
}

/** Whether the session to end had already ended. */
const isOver = (input: Parameters<typeof fetch>[0], { status }: Response): boolean =>
  status === 404 && String(input).endsWith('/sessions/end');

function textOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
