import { test } from 'vitest';
import { staysLevel } from './stays-level.ts';

test('1000 requests and 150 steps: none fails, tensors and memory stay level', () =>
  staysLevel({ requests: 1000, steps: 150, heldMib: 128 }));
