import { expect, test } from 'vitest';
import { ownPrompts } from '../../../infra/openclaw/rl-training-headers/own-prompts.js';
import { automatedKinds } from '../../../services/collector/automated.ts';

/** They begin a history, and are never the question of a request. */
const standIns: readonly string[] = ['compaction-summary', 'bootstrap'];

test("the plugin and the rules know the same prompts as OpenClaw's own", () => {
  const known = automatedKinds.flatMap(({ kind, begins }) => (standIns.includes(kind) ? [] : begins));
  expect(ownPrompts.toSorted()).toEqual(known.toSorted());
});
