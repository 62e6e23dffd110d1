import { expect, test } from 'vitest';
import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import { responsesForm } from './responses-form.ts';

const usage = { promptTokens: 9, completionTokens: 4 };
const finished = {
  ...{ version: 2, usage },
  choices: [
    {
      generated: { version: 2, finishReason: 'stop', usage },
      answer: { role: 'assistant', content: 'hi' },
      recorded: true,
    },
  ],
} as unknown as Finished;
const asked = {
  ...{ id: 'resp_1', created: 1, keyId: 'ann', adapter: 'alice' },
  chat: { model: 'm', ignored: [], generation: { messages: [] } },
} as unknown as AskedChat;

test('what is only told again is not kept anew: its client may have deleted it meanwhile', () => {
  const kept: string[] = [];
  const form = responsesForm({ model: 'm', input: 'hi' }, { remember: (id) => kept.push(id) });
  for (const shown of [form.show(asked, 'again'), form.show(asked)]) {
    expect(shown.body(finished)).toMatchObject({ id: 'resp_1' });
    shown.last(finished);
  }
  expect(kept).toEqual(['resp_1', 'resp_1']);
});
