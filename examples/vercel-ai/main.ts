import { parseArgs } from 'node:util';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, type ModelMessage, streamText, tool } from 'ai';
import { z } from 'zod';

// An agent of Vercel's AI SDK that knows a few recipes. The base URL is all that makes it learn.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8700/v1' },
    key: { type: 'string', default: 'none' },
  },
});
const said =
  positionals.length > 0
    ? positionals
    : ['What do I need for pancakes?', 'And for porridge?', 'Good. No lists next time, please.'];

const recipes: Readonly<Record<string, string>> = {
  pancakes: 'flour, milk, eggs, a pinch of salt',
  porridge: 'oats, water, a pinch of salt',
};
const find_recipe = tool({
  description: 'What a dish is made of',
  inputSchema: z.object({ dish: z.string() }),
  execute: ({ dish }) => recipes[dish.toLowerCase()] ?? `There is no recipe for ${dish}.`,
});
const clawloop = createOpenAICompatible({
  name: 'clawloop',
  baseURL: values.url,
  apiKey: values.key,
  includeUsage: true,
});

const messages: ModelMessage[] = [];
for (const words of said) {
  console.log(`\n> ${words}`);
  messages.push({ role: 'user', content: words });
  const result = streamText({
    model: clawloop('clawloop'),
    system: 'You help in the kitchen. Answer in one sentence.',
    messages,
    tools: { find_recipe },
    stopWhen: isStepCount(5),
  });
  for await (const part of result.fullStream) {
    if (part.type === 'text-delta') process.stdout.write(part.text);
    if (part.type === 'tool-call') console.log(`[calls ${part.toolName} ${JSON.stringify(part.input)}]`);
    if (part.type === 'error') throw part.error;
  }
  console.log();
  messages.push(...(await result.responseMessages)); // calls and results too: the whole conversation
}
