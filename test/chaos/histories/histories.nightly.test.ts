import { test } from 'vitest';
import { expectLawsHold } from './laws-hold.ts';

test('all laws hold in 15,000 histories', () => expectLawsHold(1001, 15_000));

test('all laws hold in 300 long histories', () => expectLawsHold(1, 300, { steps: 5000 }));
