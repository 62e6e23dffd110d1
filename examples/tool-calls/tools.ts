import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ExampleTool } from '../mcp-server.ts';

type Shop = {
  readonly items: readonly string[];
  readonly tools: readonly { readonly name: string; readonly description: string }[];
};

const { items, tools } = JSON.parse(
  readFileSync(new URL('../../shared/claw-nano/corpus/shop.json', import.meta.url), 'utf8'),
) as Shop;

/** From 2 to 99, and different for each tool: an answer by the wrong tool is wrong. */
function numberOf(tool: string, item: string): number {
  const place = tools.findIndex(({ name }) => name === tool);
  const first = createHash('sha256').update(item).digest().readUInt32BE() % 98;
  return 2 + ((first + place * 23) % 98);
}

/** What the shop answers to a call; undefined: it has no such item. */
export const shopAnswer = (tool: string, item: string): string | undefined =>
  items.includes(item) ? String(numberOf(tool, item)) : undefined;

export const shopTools: readonly ExampleTool[] = tools.map(({ name, description }) => ({
  name,
  description,
  argument: 'item',
  answer: (item) => shopAnswer(name, item),
}));
