import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';

/** Reference numbers made with PyTorch and transformers. They stand beside the checkout, not in it. */
const root = new URL('../../../shared/fixtures/policy/', import.meta.url);

export const referencePath = (name: string): string => fileURLToPath(new URL(name, root));

export const readReference = (name: string): unknown => JSON.parse(readFileSync(referencePath(name), 'utf8'));

/**
 * Runs a suite where the reference numbers are, skips it elsewhere. With CLAWLOOP_REQUIRE_ALL=1 it runs, and
 * fails.
 */
export const describeReference =
  existsSync(root) || process.env.CLAWLOOP_REQUIRE_ALL === '1' ? describe : describe.skip;
