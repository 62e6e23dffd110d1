/** Keeps the beginning and the end of a stream, and counts the rest. */
export type KeptOutput = {
  readonly add: (part: Buffer) => void;
  /** bytes that came, kept or not */
  readonly bytes: () => number;
  /** The kept output, with a line about the part that was left out. */
  readonly text: () => string;
};

/** @param limit bytes to keep, half of them from the beginning */
export function keepOutput(limit: number): KeptOutput {
  const half = Math.floor(limit / 2);
  const head: Buffer[] = [];
  let tail: Buffer[] = [];
  let [headBytes, tailBytes, bytes] = [0, 0, 0];
  return {
    add: (part) => {
      bytes += part.length;
      const forHead = part.subarray(0, half - headBytes);
      if (forHead.length > 0) {
        head.push(forHead);
        headBytes += forHead.length;
      }
      const rest = part.subarray(forHead.length);
      if (rest.length === 0) return;
      tail.push(rest);
      tailBytes += rest.length;
      if (tailBytes <= 2 * half) return;
      tail = [Buffer.concat(tail).subarray(-half)];
      tailBytes = half;
    },
    bytes: () => bytes,
    text: () => {
      const end = Buffer.concat(tail).subarray(-half);
      const left = bytes - headBytes - end.length;
      const gap = left > 0 ? `\n[... ${left} bytes left out ...]\n` : '';
      return `${Buffer.concat(head).toString()}${gap}${end.toString()}`;
    },
  };
}
