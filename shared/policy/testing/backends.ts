import { describe } from 'vitest';
import { type Executor, openBackend } from '../executors/backend.ts';
import { nativeInstalled } from '../executors/native.ts';

const required = process.env.CLAWLOOP_REQUIRE_ALL === '1';

/** Runs a suite on wasm, and on native where that is installed (with CLAWLOOP_REQUIRE_ALL=1: it must be). */
export function describeOnBackends(
  name: string,
  suite: (open: () => Promise<Executor>, kind: Executor['kind']) => void,
): void {
  describe(`${name} (wasm)`, () => suite(() => openBackend('wasm'), 'wasm'));
  const native = nativeInstalled() || required ? describe : describe.skip;
  native(`${name} (native)`, () => suite(() => openBackend('native', { threads: 2 }), 'native'));
}

/**
 * The largest absolute difference between two lists of numbers; Infinity when their lengths differ or one is
 * NaN.
 */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let largest = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!);
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Infinity : difference;
  }
  return largest;
}
