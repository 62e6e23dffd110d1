import { test } from 'vitest';
import { expectLawsHold } from './laws-hold.ts';

test('all laws hold in 250 histories', () => expectLawsHold(1001, 250));

test('all laws hold in 10 long histories', () => expectLawsHold(1, 10, { steps: 5000 }));
