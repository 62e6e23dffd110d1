import { z } from 'zod';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { type Answer, mapAnswer, request } from '../rl-client.ts';

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

export type Spoken = {
  readonly id: string;
  readonly text: string;
  readonly tokens: number;
  readonly finishReason: string;
  /** of the policy that answered; undefined where the server does not tell */
  readonly version: number | undefined;
};

/** One turn of OpenAI's chat API, as any client of it asks. */
export const chat = async (
  url: string,
  key: string,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<Answer<Spoken>> =>
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

/** Versions that the server lists beside the base. */
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
