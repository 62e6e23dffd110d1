import type OpenAI from 'openai';
import { defined } from '../../../shared/lang/defined.ts';
import { until } from '../harness/clawloop.ts';
import type { Replica } from './deployment.ts';

export type Message = OpenAI.ChatCompletionMessageParam;

export type Answer = {
  readonly id: string;
  readonly text: string;
  readonly version: number;
  readonly recorded: boolean;
  /** Cut off by its token limit: such a turn does not train. */
  readonly isCut: boolean;
};

export type ChatOptions = {
  readonly session?: string;
  readonly model?: string;
  readonly maxTokens?: number;
  readonly done?: boolean;
};

type Marked = { readonly clawloop?: { readonly version: number; readonly recorded: boolean } };

const headersOf = ({ session, done }: ChatOptions): Record<string, string> => ({
  ...defined({ 'x-session-id': session, 'x-session-done': done === true ? 'true' : undefined }),
});

/** One plain answer. */
export async function ask(
  { client }: Replica,
  messages: readonly Message[],
  options: ChatOptions = {},
): Promise<Answer> {
  const completion = await client.chat.completions.create(
    { model: options.model ?? 'clawloop', messages: [...messages], max_tokens: options.maxTokens ?? 160 },
    { headers: headersOf(options) },
  );
  const { version, recorded } = (completion as Marked).clawloop!;
  const text = completion.choices[0]!.message.content ?? '';
  const isCut = completion.choices[0]!.finish_reason === 'length';
  return { id: completion.id, text, version, recorded, isCut };
}

/** The same, streamed. */
export async function askStreaming(
  { client }: Replica,
  messages: readonly Message[],
  options: ChatOptions = {},
): Promise<Answer> {
  const stream = await client.chat.completions.create(
    { model: 'clawloop', messages: [...messages], max_tokens: options.maxTokens ?? 160, stream: true },
    { headers: headersOf(options) },
  );
  let id = '';
  let text = '';
  let finish: string | null | undefined;
  let mark: Marked['clawloop'];
  for await (const chunk of stream) {
    id = chunk.id;
    text += chunk.choices[0]?.delta.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
    mark = (chunk as Marked).clawloop ?? mark;
  }
  if (finish == null || mark === undefined) throw new Error('the stream has no end');
  return { id, text, ...mark, isCut: finish === 'length' };
}

/** A question, its answer and the person's reaction; the turns alternate between the replicas. */
export async function converse(
  replicas: readonly Replica[],
  lines: readonly string[],
  options: ChatOptions = {},
): Promise<readonly Answer[]> {
  const messages: Message[] = [];
  const answers: Answer[] = [];
  for (const [index, content] of lines.entries()) {
    messages.push({ role: 'user', content });
    const answer = await ask(replicas[index % replicas.length]!, messages, options);
    messages.push({ role: 'assistant', content: answer.text });
    answers.push(answer);
  }
  return answers;
}

export async function post(
  { url }: Replica,
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

/** Resolves when new answers of this replica start on such a version. */
export const untilItServes = (replica: Replica, isIt: (version: number) => boolean, limitMs = 120_000) =>
  until(
    'the version is served',
    async () => {
      const { version } = await ask(replica, [{ role: 'user', content: 'Good morning.' }], { maxTokens: 2 });
      return isIt(version) && { version };
    },
    limitMs,
  );
