import { z } from 'zod';
import type { PromptParts } from './engine.ts';
import { withBothNames } from './upstream-chat.ts';
import type { UpstreamHttp } from './upstream-http.ts';
import { refusalError } from './upstream-refusal.ts';

const Counted = z.looseObject({ count: z.int().min(0) });

const LIMIT_MS = 30_000;

/** Tokens of a chat's prompt as vLLM's /tokenize counts them, with its own template. */
export const countWithTokenize =
  (http: UpstreamHttp, address: string) =>
  async ({ messages, tools, templateVariables }: PromptParts): Promise<number> => {
    const { status, text } = await http.call(address, LIMIT_MS, {
      messages: withBothNames(messages),
      add_generation_prompt: true,
      ...(tools.length === 0 ? {} : { tools }),
      ...(Object.keys(templateVariables).length === 0 ? {} : { chat_template_kwargs: templateVariables }),
    });
    if (status !== 200) throw refusalError({ status, text, retryAfterSeconds: undefined });
    return Counted.parse(JSON.parse(text)).count;
  };
