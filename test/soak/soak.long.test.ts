import { test } from 'vitest';
import { staysLevel } from './stays-level.ts';

test('160 requests and 16 steps: none fails, tensors and memory stay level', () =>
  staysLevel({ requests: 160, steps: 16, heldMib: 256 }));
