import { expect, test } from 'vitest';
import { describeWithSkyrl } from '../../skyrl/skyrl-for-suite.ts';
import { measureGpu } from './gpu.ts';

describeWithSkyrl('the measurements of a GPU, on a CPU with tiny dimensions', () => {
  test('SkyRL and transformers agree within 1e-4 nats, and steps have a speed', async () => {
    const rows = await measureGpu({ platform: 'cpu' });
    expect(rows.map(({ model, dtype }) => [model, dtype])).toEqual([['tiny', 'F32']]);
    expect(rows[0]!.baseDifference).toBeLessThan(1e-4);
    expect(rows[0]!.adapterDifference).toBeLessThan(1e-4);
    expect(rows[0]!.tokensPerSecond).toBeGreaterThan(0);
    const lasts = rows[0]!.lengths.map(({ firstKl, lastKl }) => {
      expect(firstKl).toBeGreaterThan(0);
      expect(lastKl).toBeGreaterThan(firstKl);
      return lastKl;
    });
    expect(lasts).toHaveLength(3);
    expect(lasts).toEqual(lasts.toSorted((a, b) => a - b));
  });
});
