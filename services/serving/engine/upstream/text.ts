import type { AnswerBytes } from './bytes.ts';

/** Limit of a short answer: vLLM's /tokenize lists the tokens of a prompt, about 8 bytes each. */
export const MOST_ANSWER_BYTES = 32 * 2 ** 20;
/** Limit of an error response, which may repeat the request. */
export const MOST_REFUSAL_BYTES = 64 * 2 ** 10;

type BoundedText = { readonly text: string; readonly isWhole: boolean };

/** Reads up to `most` bytes of an answer. If there are more, the connection is closed. */
export function boundedText(bytes: AnswerBytes, most: number): Promise<BoundedText> {
  const parts: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const finish = () => {
      const text = Buffer.concat(parts).subarray(0, most).toString('utf8');
      resolve({ text, isWhole: size <= most });
    };
    bytes.listen({
      onBytes: (part) => {
        if (size > most) return;
        parts.push(part);
        size += part.length;
        if (size <= most) return;
        finish();
        bytes.stop();
      },
      onEnd: finish,
      onBreak: reject,
    });
  });
}
