/** Bytes up to which the memory is kept for the next use. */
const keptBytes = 16 * 2 ** 20;

/**
 * Memory for numbers that are needed one after the other: `take` gives what the call before was given, as
 * long as it is large enough. Many small arrays and a few large ones pass without waiting for the garbage
 * collector; what is large is given back at the next call.
 */
export type Scratch = {
  readonly take: (length: number) => Float32Array<ArrayBuffer>;
  readonly free: () => void;
};
export function createScratch(): Scratch {
  let memory = new ArrayBuffer(0);
  const free = () => {
    memory.transfer(0); // gives the memory back now
    memory = new ArrayBuffer(0);
  };
  return {
    take(length) {
      const bytes = length * Float32Array.BYTES_PER_ELEMENT;
      if (memory.byteLength < bytes || memory.byteLength > Math.max(bytes, keptBytes)) {
        free();
        memory = new ArrayBuffer(bytes);
      }
      return new Float32Array(memory, 0, length);
    },
    free,
  };
}
