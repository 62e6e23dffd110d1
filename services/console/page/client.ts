import { createParser } from 'eventsource-parser';
import type { Change } from '../api/shapes.ts';

/** The key stays in this tab: it is sent in a header, never in a cookie, and forgotten with the tab. */
const KEY = 'clawloop-key';

export const storedKey = (): string => sessionStorage.getItem(KEY) ?? '';
export const storeKey = (key: string): void => sessionStorage.setItem(KEY, key);

/** An answer that is not a success. Status 0: the console did not answer. */
export type Failure = { readonly status: number; readonly code: string; readonly message: string };

export const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && 'status' in value && 'code' in value && 'message' in value;

const noAnswer: Failure = {
  status: 0,
  code: 'no_answer',
  message: 'The console does not answer. It may be starting again.',
};

const headers = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...(storedKey() === '' ? {} : { authorization: `Bearer ${storedKey()}` }),
  ...more,
});

/** @throws Failure */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, {
    ...init,
    headers: headers(init.headers as Record<string, string> | undefined),
  }).catch(() => {
    if (init.signal?.aborted) throw { ...noAnswer, code: 'aborted' };
    throw noAnswer;
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
  throw {
    status: response.status,
    code: body.error?.code ?? 'error',
    message: body.error?.message ?? `Status ${response.status}.`,
  } satisfies Failure;
}

/** @throws Failure */
export const get = async <Body>(path: string): Promise<Body> => (await (await request(path)).json()) as Body;

/** @throws Failure */
export const post = async <Body>(
  path: string,
  body: object = {},
  more: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Body> => (await (await send(path, body, more, signal)).json()) as Body;

const send = (
  path: string,
  body: object,
  more: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> =>
  request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

/** Calls `onData` with the data of each event until the stream ends. */
async function readEvents(response: Response, onData: (data: string) => void): Promise<void> {
  const parser = createParser({ onEvent: ({ data }) => onData(data) });
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) parser.feed(text);
}

export type ChatMessage = { readonly role: 'user' | 'assistant'; readonly content: string };

type Chunk = {
  readonly id?: string;
  readonly clawloop?: { readonly version: number };
  readonly error?: { readonly message: string };
  readonly choices?: readonly [
    { readonly delta?: { readonly content?: string | null }; readonly finish_reason?: string | null }?,
  ];
};

/** Streams an answer. Resolves to its id and the version that gave it. @throws Failure */
export async function chat(
  body: { readonly model: string; readonly messages: readonly ChatMessage[]; readonly temperature?: number },
  session: string | undefined,
  onText: (text: string) => void,
  signal?: AbortSignal,
): Promise<{ readonly id: string; readonly version: string | null }> {
  const response = await send(
    '/serving/v1/chat/completions',
    { ...body, stream: true },
    session === undefined ? {} : { 'x-session-id': session },
    signal,
  );
  let id = '';
  // absent if the answer began so late that the headers were sent before it
  let version = response.headers.get('x-clawloop-version');
  let failure: Failure | undefined;
  await readEvents(response, (data) => {
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) failure = { status: 500, code: 'failed', message: chunk.error.message };
    id = chunk.id ?? id;
    if (chunk.clawloop !== undefined) version = String(chunk.clawloop.version);
    const text = chunk.choices?.[0]?.delta?.content ?? '';
    if (text !== '') onText(text);
  }).catch(() => {
    failure ??= {
      ...noAnswer,
      message: 'The connection broke before the answer ended. Send the message again.',
    };
  });
  if (failure !== undefined) throw failure;
  return { id, version };
}

/** ms until the first new attempt; doubles up to the longest */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;

type Listener = {
  readonly onChange: (change: Change) => void;
  readonly onState: (state: 'live' | 'lost', failure?: Failure) => void;
};

/** Follows the console, and connects again when the connection breaks. */
export function followLive({ onChange, onState }: Listener): { readonly again: () => void } {
  let stop = new AbortController();
  const run = async (signal: AbortSignal): Promise<void> => {
    let wait = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        const response = await request('/api/live', { signal });
        onState('live');
        wait = FIRST_RETRY_MS;
        await readEvents(response, (data) => onChange(JSON.parse(data) as Change));
        if (!signal.aborted) onState('lost');
      } catch (error) {
        if (signal.aborted) return;
        onState('lost', isFailure(error) ? error : noAnswer);
        if (isFailure(error) && (error.status === 401 || error.status === 403)) return; // until there is a key
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(LONGEST_RETRY_MS, wait * 2);
    }
  };
  void run(stop.signal);
  return {
    again: () => {
      stop.abort();
      stop = new AbortController();
      void run(stop.signal);
    },
  };
}
