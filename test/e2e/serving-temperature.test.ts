import { describe, expect, test } from 'vitest';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { servingForSuite } from './serving-process.ts';

describe('serving beside a training server', () => {
  const on = servingForSuite(['--model', CLAW_NANO, '--training-engine', 'tinker']);
  const ask = async (more: { readonly temperature?: number }) => {
    const messages = [{ role: 'user', content: 'How do I clean a pan?' } as const];
    const request = { model: 'clawloop', messages, max_tokens: 4, ...more };
    const { id } = await on.serving.client.chat.completions.create(request);
    return (await on.folder.interaction(id)).sampling;
  };

  test("a request without a temperature is sampled at 1, with the model's other advice", async () => {
    expect(await ask({})).toMatchObject({ temperature: 1, topP: 0.95, topK: 50 });
    expect(await ask({ temperature: 0.5 })).toMatchObject({ temperature: 0.5 });
  });
});
