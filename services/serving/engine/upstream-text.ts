import type { Dispatcher } from 'undici';

/** Bytes of a whole answer: vLLM's /tokenize lists a prompt's tokens, some 8 bytes each. */
export const MOST_ANSWER_BYTES = 32 * 2 ** 20;
/** Of one that is no answer, what is read to tell why: a server may send the request back in it. */
export const MOST_REFUSAL_BYTES = 64 * 2 ** 10;

export type BoundedText = { readonly text: string; readonly isWhole: boolean };

/** The beginning of a body. What is beyond `most` bytes is not read, and its connection is closed. */
export async function boundedText(body: Dispatcher.ResponseData['body'], most: number): Promise<BoundedText> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    size += part.length;
    if (size > most) break; // which destroys the body
  }
  const text = Buffer.concat(parts).subarray(0, most).toString('utf8');
  return { text, isWhole: size <= most };
}
