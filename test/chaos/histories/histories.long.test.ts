import { test } from 'vitest';
import { expectLawsHold } from './laws-hold.ts';

test('all laws hold in 750 histories', () => expectLawsHold(1001, 750));

test('all laws hold in 30 long histories', () => expectLawsHold(1, 30, { steps: 5000 }));
