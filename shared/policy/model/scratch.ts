/** Up to this many bytes, memory is kept for the next use. */
const keptBytes = 16 * 2 ** 20;

/**
 * Memory for arrays that are used one after the other: `take` reuses the memory of the previous call if it is large
 * enough. So many small arrays and a few large ones do not wait for the garbage collector. Large memory is freed at
 * the next call.
 */
type Scratch = {
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
