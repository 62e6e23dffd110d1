import { test } from 'vitest';
import { staysLevel } from './stays-level.ts';

test('400 requests and 40 steps: none fails, tensors and memory stay level', () => staysLevel(400, 40));
