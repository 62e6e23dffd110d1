import { z } from 'zod';
import { type Answer, mapAnswer, request } from '../../../clients/api-client.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';

const Completion = z.looseObject({
  id: z.string(),
  choices: z
    .array(
      z.looseObject({ message: z.looseObject({ content: z.string().nullish() }), finish_reason: z.string() }),
    )
    .min(1),
  usage: z.looseObject({ completion_tokens: z.int() }),
  clawloop: z.looseObject({ version: z.int() }).optional(),
});
const Models = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

export type ChatAnswer = {
  readonly id: string;
  readonly text: string;
  readonly tokens: number;
  readonly finishReason: string;
  /** policy version that answered; undefined: not reported */
  readonly version: number | undefined;
};

/** A request to OpenAI's chat API. */
export const chat = async (
  url: string,
  key: string,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<Answer<ChatAnswer>> =>
  mapAnswer(
    await request(
      `${url}/chat/completions`,
      key,
      { model: 'clawloop', messages, temperature: 0.7, max_tokens: 512 },
      signal,
    ),
    Completion,
    ({ id, choices: [choice], usage, clawloop }) => ({
      id,
      text: choice!.message.content ?? '',
      tokens: usage.completion_tokens,
      finishReason: choice!.finish_reason,
      version: clawloop?.version,
    }),
  );

/** Versions that the server lists besides the base. */
export const listedVersions = async (
  url: string,
  accessKey: string | undefined,
  signal: AbortSignal,
): Promise<Answer<readonly number[]>> =>
  mapAnswer(await request(`${url}/models`, accessKey, undefined, signal), Models, ({ data }) =>
    data.flatMap(({ id }) => {
      const version = /@v(\d+)$/.exec(id)?.[1];
      return version === undefined ? [] : [Number(version)];
    }),
  );
