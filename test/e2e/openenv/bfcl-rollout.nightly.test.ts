import { test } from 'vitest';
import { expectReferencesEarnOne } from './bfcl-suite.ts';
import { describeWithOpenEnv } from './describe-with-openenv.ts';
import { withRollouts } from './with-rollouts.ts';

describeWithOpenEnv('multi-turn references of BFCL in a rollout', () => {
  const tools = withRollouts();
  test('200 references earn 1, and the audit balances', () => expectReferencesEarnOne(tools, 200));
});
