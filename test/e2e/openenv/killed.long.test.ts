import { describe, test } from 'vitest';
import { describeWithOpenEnv } from './describe-with-openenv.ts';
import { expectKillsToBalance } from './killed-suite.ts';
import { withRollouts } from './with-rollouts.ts';

describeWithOpenEnv('kills at some requests of a rollout lose nothing, and count nothing twice', () => {
  describe('of the rollout, which is resumed', () => {
    const tools = withRollouts();
    test('every eighteenth one', () => expectKillsToBalance(tools, 'rollout', 18));
  });
});
