import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { NativeExecutor } from '../executor.ts';
import { nativeInstalled, openNative } from '../native.ts';
import type { Tensor } from '../tensor.ts';
import { NotRecordable } from './recorder.ts';

const native = nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1' ? describe : describe.skip;
const float = { T: 'float32' } as const;
const reshape = { T: 'float32', Tshape: 'int32' } as const;

const column = (on: NativeExecutor, x: Tensor): Tensor =>
  on.run('Reshape', [x, on.integers([x.shape[0]!, 1])], reshape);
/** [n] to the [n, n] of all sums. */
const sums = (on: NativeExecutor, x: Tensor): Tensor => on.run('AddV2', [column(on, x), x], float);

native('a function that is run as a graph', () => {
  const executor = (): NativeExecutor => openNative({ threads: 2 });
  const vector = (on: NativeExecutor, ...values: number[]): Tensor =>
    on.upload(Float32Array.from(values), [values.length]);
  const run = (on: NativeExecutor, name: string, sizes: 'fixed' | 'varying', ...values: number[]) =>
    on.scope(() => [...on.read(on.graphs!.run({ name, sizes }, vector(on, ...values), sums))]);

  test('one graph serves all varying sizes; fixed sizes need one graph each', () => {
    const on = executor();
    on.graphs!.clear();
    expect(run(on, 'sums', 'varying', 1, 2)).toEqual([2, 3, 3, 4]);
    expect(run(on, 'sums', 'varying', 1, 2, 3)).toEqual([2, 3, 4, 3, 4, 5, 4, 5, 6]);
    expect(run(on, 'sums', 'varying', 7)).toEqual([14]);
    expect(on.graphs!.count).toBe(1);
    run(on, 'sums', 'fixed', 1, 2);
    expect(run(on, 'sums', 'fixed', 5)).toEqual([10]);
    expect(run(on, 'sums', 'fixed', 6)).toEqual([12]);
    expect(on.graphs!.count).toBe(3);
  });

  test("inputs that are not tensors are part of the graph's key", () => {
    const on = executor();
    const power = (exponent: number): number =>
      on.scope(() => {
        const inputs = { x: vector(on, 3), exponent };
        const result = on.graphs!.run({ name: 'power', sizes: 'varying' }, inputs, (to, given) => {
          let product = given.x;
          for (let i = 1; i < given.exponent; i++) product = to.run('Mul', [product, given.x], float);
          return product;
        });
        return on.read(result)[0]!;
      });
    expect([power(1), power(2), power(3), power(2)]).toEqual([3, 9, 27, 9]);
  });

  test("the place of a tensor is part of the graph's key", () => {
    const on = executor();
    const difference = (inputs: { plus: readonly Tensor[]; minus: readonly Tensor[] }): number[] => {
      const result = on.graphs!.run({ name: 'difference', sizes: 'varying' }, inputs, (to, given) => {
        const [plus, minus] = [given.plus, given.minus];
        const zero = to.run('Sub', [plus[0] ?? minus[0]!, plus[0] ?? minus[0]!], float);
        const added = plus.reduce((sum, x) => to.run('AddV2', [sum, x], float), zero);
        return minus.reduce((sum, x) => to.run('Sub', [sum, x], float), added);
      });
      return [...on.read(result)];
    };
    on.scope(() => {
      const [a, b] = [vector(on, 5), vector(on, 3)];
      expect(difference({ plus: [a], minus: [b] })).toEqual([2]);
      expect(difference({ plus: [a, b], minus: [] })).toEqual([8]);
      expect(difference({ plus: [], minus: [a, b] })).toEqual([-8]);
    });
  });

  test('a tensor returned twice is one tensor, and nothing else remains', () => {
    const on = executor();
    const before = on.tensorCount();
    on.scope(() => {
      const x = vector(on, 1, 2);
      const inputs = { x, rows: Int32Array.of(1, 0) };
      const made = on.graphs!.run({ name: 'tree', sizes: 'varying' }, inputs, (to, given) => {
        const square = to.run('Square', [given.x], float);
        return { first: square, second: [square, given.x], note: 'kept', none: undefined };
      });
      expect(made.second).toEqual([made.first, x]);
      expect(made.second[0]).toBe(made.first);
      expect(made.second[1]).toBe(x);
      expect([made.note, made.none]).toEqual(['kept', undefined]);
      expect([...on.read(made.first)]).toEqual([1, 4]);
    });
    expect(on.tensorCount()).toBe(before);
  });

  test('unused graphs are dropped and compiled again', () => {
    const on = executor();
    for (let n = 1; n <= 60; n++) run(on, 'bound', 'fixed', ...Array.from({ length: n }, () => 1));
    expect(on.graphs!.count).toBe(48);
    expect(run(on, 'bound', 'fixed', 4)).toEqual([8]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(`clawloop-graph-${process.pid}-`))).toEqual(
      [],
    );
  });

  test('errors name what a graph cannot do, and nothing remains', () => {
    const on = executor();
    const before = on.tensorCount();
    const attempt = (body: (to: NativeExecutor, x: Tensor) => unknown) => () =>
      on.scope(() => on.graphs!.run({ name: String(body), sizes: 'varying' }, vector(on, 1, 2), body));
    expect(attempt((to, x) => to.read(x))).toThrow('cannot read values');
    expect(attempt((to) => to.upload(Float32Array.of(1), [1]))).toThrow('cannot upload values');
    expect(attempt((to) => to.run('Square', [vector(on, 1)], float))).toThrow('pass it as an input');
    expect(attempt((to) => to.integers([1]))).toThrow(NotRecordable);
    expect(attempt((_, x) => new Map([['x', x]]))).toThrow('take or return a Map');
    expect(attempt((to, x) => to.run('Conv2D', [x], float))).toThrow('Conv2D cannot be recorded');
    expect(on.tensorCount()).toBe(before);
  });
});
