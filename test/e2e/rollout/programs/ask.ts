import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const { CLAWLOOP_MODEL: model, INSTRUCTION: content, TASK } = process.env;
const { sdk, exit } = JSON.parse(TASK!) as { readonly sdk?: string; readonly exit?: number };
const messages = [{ role: 'user' as const, content: content! }];

// Each SDK itself reads its key and its address from the variables.
if (sdk === 'openai') {
  const completion = await new OpenAI({ maxRetries: 0 }).chat.completions.create({ model: model!, messages });
  console.log(completion.choices[0]!.message.content);
}
if (sdk === 'anthropic') {
  const client = new Anthropic({ maxRetries: 0 });
  const { content: blocks } = await client.messages.create({ model: model!, max_tokens: 100, messages });
  for (const block of blocks) if (block.type === 'text') console.log(block.text);
}
if (exit !== undefined) {
  console.error('broken');
  process.exit(exit);
}
