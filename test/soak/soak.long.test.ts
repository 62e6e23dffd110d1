import { test } from 'vitest';
import { staysLevel } from './stays-level.ts';

test('400 requests and 40 steps: none fails, tensors and memory stay level', () =>
  staysLevel({ requests: 400, steps: 40, heldMib: 256 }));
