import { test } from 'vitest';
import { staysLevel } from './stays-level.ts';

test('500 requests and 75 steps: none fails, tensors and memory stay level', () => staysLevel(500, 75));
