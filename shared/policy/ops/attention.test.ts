import { expect, test } from 'vitest';
import { describeOnBackends, largestDifference } from '../testing/backends.ts';
import { gaussian } from '../testing/gradients.ts';
import { attention, attentionVjp, causalBlocks } from './attention.ts';

describeOnBackends('attention', (open) => {
  test('the first position attends only to itself, the last to all positions', async () => {
    const executor = await open();
    const shape = { batch: 1, positions: 3, heads: 1, keyValueHeads: 1, headSize: 2 };
    const value = Float32Array.of(1, 2, 3, 4, 5, 6);
    const output = executor.scope(() => {
      const queryKey = executor.upload(new Float32Array(12), [1, 3, 2, 2]); // all scores 0: plain means
      const mask = causalBlocks(executor, 3, { backward: false });
      const inputs = { queryKey, value: executor.upload(value, [3, 2]) };
      return executor.read(attention(executor, inputs, shape, mask).output);
    });
    expect([...output]).toEqual([1, 2, 2, 3, 3, 4].map((wanted) => expect.closeTo(wanted, 5)));
  });

  test('attention in blocks has the derivative of attention in one block', async () => {
    const executor = await open();
    // Up to 255 positions are one block; from 256 on there are several. What is put behind changes nothing.
    const heads = { batch: 2, heads: 4, keyValueHeads: 2, headSize: 4 };
    const [short, long] = [250, 290];
    const inputs = { queryKey: gaussian(2 * long * 24), value: gaussian(2 * long * 8) };
    const probe = gaussian(2 * long * 16);
    const gradients = (positions: number) =>
      executor.scope(() => {
        const shape = { ...heads, positions };
        const upTo = (values: Float32Array, width: number): Float32Array =>
          Float32Array.from({ length: 2 * positions * width }, (_, i) => {
            const [row, column] = [Math.floor(i / width), i % width];
            const [sequence, position] = [Math.floor(row / positions), row % positions];
            return values[(sequence * long + position) * width + column]!;
          });
        const queryKey = executor.upload(upTo(inputs.queryKey, 24), [2, positions, 6, 4]);
        const value = executor.upload(upTo(inputs.value, 8), [2 * positions, 8]);
        const dy = upTo(probe, 16).map((slope, i) => (Math.floor(i / 16) % positions < short ? slope : 0));
        const blocks = causalBlocks(executor, positions, { backward: true });
        const { saved } = attention(executor, { queryKey, value }, shape, blocks);
        const made = attentionVjp(executor, saved, executor.upload(dy, [2 * positions, 16]), shape);
        const all = [executor.read(made.dqueryKey), executor.read(made.dvalue)] as const;
        const seen = (values: Float32Array, width: number) =>
          values.filter((_, i) => Math.floor(i / width) % positions < short);
        return Float32Array.from([...seen(all[0], 24), ...seen(all[1], 8)]);
      });
    expect(largestDifference(gradients(short), gradients(long))).toBeLessThan(1e-5);
  });

  test('attention in blocks equals attention in one block', async () => {
    const executor = await open();
    const shape = { batch: 2, positions: 600, heads: 4, keyValueHeads: 2, headSize: 4 };
    const inputs = { queryKey: gaussian(2 * 600 * 24), value: gaussian(2 * 600 * 8) };
    const compute = (backward: boolean) =>
      executor.scope(() => {
        const queryKey = executor.upload(inputs.queryKey, [2, 600, 6, 4]);
        const value = executor.upload(inputs.value, [1200, 8]);
        const blocks = causalBlocks(executor, 600, { backward });
        return executor.read(attention(executor, { queryKey, value }, shape, blocks).output);
      });
    expect(largestDifference(compute(false), compute(true))).toBeLessThan(1e-5);
  });
});
