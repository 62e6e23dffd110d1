import { parseArgs } from 'node:util';
import { Agent, MemorySession, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';

// An agent of OpenAI's agents SDK that helps people pack. The base URL is all that makes it learn.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8700/v1' },
    key: { type: 'string', default: 'none' },
    chat: { type: 'boolean', default: false },
  },
});
const said =
  positionals.length > 0
    ? positionals
    : [
        'What should I pack for a weekend trip to Lisbon?',
        'And for a beach holiday?',
        'Good. No lists next time, please.',
      ];

const weather: Readonly<Record<string, string>> = { Lisbon: 'sunny, 19 degrees', Oslo: 'snow, -4 degrees' };
const agent = new Agent({
  name: 'Packing assistant',
  instructions: 'You help people pack. Look up the weather of a place that they name.',
  tools: [
    tool({
      name: 'get_weather',
      description: 'The weather at a place',
      parameters: z.object({ place: z.string() }),
      execute: ({ place }) => weather[place] ?? `Nothing is known of ${place}.`,
    }),
  ],
});
// responses by default, chat completions with --chat: ClawLoop answers both
const provider = new OpenAIProvider({
  baseURL: values.url,
  apiKey: values.key,
  useResponses: !values.chat,
});
const runner = new Runner({ modelProvider: provider, model: 'clawloop', tracingDisabled: true });

const session = new MemorySession(); // what was said so far goes with every request
for (const words of said) {
  console.log(`\n> ${words}`);
  const result = await runner.run(agent, words, { session, stream: true });
  for await (const event of result) {
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
      process.stdout.write(event.data.delta);
    if (event.type === 'run_item_stream_event' && event.item.type === 'tool_call_item')
      console.log(`[calls ${event.item.toolName}]`);
  }
  await result.completed;
  console.log();
}
