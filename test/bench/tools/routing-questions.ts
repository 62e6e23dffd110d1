import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRandom } from '../../../shared/policy/model/random.ts';

export const exampleFile = (name: string): string =>
  fileURLToPath(new URL(`../../../examples/tool-routing/${name}`, import.meta.url));

export type RoutingQuestion = { readonly id: string; readonly question: string; readonly tool: string };

const questions: readonly RoutingQuestion[] = readFileSync(exampleFile('questions.jsonl'), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as RoutingQuestion);

export const toolNames: readonly string[] = [...new Set(questions.map(({ tool }) => tool))];

/** Part of the questions of each tool that is never trained on. */
const HELD_OUT = 1 / 3;

/** The questions of a seed: those to learn from, and those to measure with. */
export function splitQuestions(seed: number): {
  readonly training: readonly RoutingQuestion[];
  readonly heldOut: readonly RoutingQuestion[];
} {
  const random = createRandom(`routing/split/${seed}`);
  const byTool = toolNames.map((name) =>
    shuffled(
      questions.filter(({ tool }) => tool === name),
      random,
    ),
  );
  const part = (tool: readonly RoutingQuestion[]) => Math.round(tool.length * HELD_OUT);
  return {
    training: byTool.flatMap((tool) => tool.slice(part(tool))),
    heldOut: byTool.flatMap((tool) => tool.slice(0, part(tool))),
  };
}

/** In random order (Fisher-Yates). */
export function shuffled<Value>(values: readonly Value[], random: () => number): readonly Value[] {
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}
