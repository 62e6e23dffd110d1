import { expect } from 'vitest';
import type { RolloutTools } from './with-rollouts.ts';

type Call = { readonly name: string; readonly arguments: object };

/** The policy makes the reference calls of BFCL's first `count` tasks: each attempt must earn 1. */
export async function expectReferencesEarnOne({ decide, open, roll, run }: RolloutTools, count: number) {
  const server = await open('bfcl');
  const references: (readonly Call[])[] = [];
  for (let index = 0; index < count; index++) {
    const response = await fetch(`${server.url}/bfcl/references/${index}`);
    const { turns } = (await response.json()) as { readonly turns: readonly (readonly Call[])[] };
    references.push(turns.flatMap((turn) => [...turn, { name: 'next_turn', arguments: {} }]));
  }
  // tasks run one after the other, so conversations are numbered as tasks are
  decide(({ conversation, step }) => references[conversation]![step] ?? 'Done.');
  const flags = ['--n', '1', '--tasks', String(count), '--concurrency', '1', '--max-steps', '200'];
  const { code, lines, printed } = await roll(server, ...flags);
  expect(code, printed).toBe(0);
  expect(lines.map(({ reward }) => reward)).toEqual(Array(count).fill(1));
  expect((await run('audit')).stdout).toMatch(/balances/);
}
