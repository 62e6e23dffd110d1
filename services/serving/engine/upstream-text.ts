import type { AnswerBytes } from './upstream-bytes.ts';

/** Bytes of a whole answer: vLLM's /tokenize lists a prompt's tokens, some 8 bytes each. */
export const MOST_ANSWER_BYTES = 32 * 2 ** 20;
/** Of one that is no answer, what is read to tell why: a server may send the request back in it. */
export const MOST_REFUSAL_BYTES = 64 * 2 ** 10;

export type BoundedText = { readonly text: string; readonly isWhole: boolean };

/** The beginning of an answer. What is beyond `most` bytes is not read, and its connection is closed. */
export function boundedText(bytes: AnswerBytes, most: number): Promise<BoundedText> {
  const parts: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const tell = () => {
      const text = Buffer.concat(parts).subarray(0, most).toString('utf8');
      resolve({ text, isWhole: size <= most });
    };
    bytes.hear({
      onBytes: (part) => {
        if (size > most) return;
        parts.push(part);
        size += part.length;
        if (size <= most) return;
        tell();
        bytes.stop();
      },
      onEnd: tell,
      onBreak: reject,
    });
  });
}
