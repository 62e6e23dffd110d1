import { expect, test } from 'vitest';
import { createRandom, normal } from '../random.ts';
import { describeOnBackends } from '../test-backends.ts';
import { forManyRows } from './many-rows.ts';
import { matmul } from './matmul.ts';

describeOnBackends('products of many rows', (backend) => {
  test.each([1, 8, 33])('of %i: the same numbers', async (rows) => {
    const executor = await backend();
    const random = createRandom('many rows');
    const values = (size: number) => Float32Array.from({ length: size }, () => normal(random));
    executor.scope(() => {
      const x = executor.upload(values(rows * 24), [rows, 24]);
      const weight = executor.upload(values(40 * 24), [40, 24]);
      const [one, other] = [executor, forManyRows(executor)].map((on) => {
        const product = matmul(on, x, weight, { transposeB: true });
        expect(product.shape).toEqual([rows, 40]);
        return executor.read(product);
      });
      other!.forEach((value, index) => void expect(value).toBeCloseTo(one![index]!, 4));
    });
  });
});
