import { expect, test } from 'vitest';
import type { AcceptedRequest, FinishedAnswer } from '../../answer/answer.ts';
import { responsesForm } from './responses-form.ts';

const usage = { promptTokens: 9, completionTokens: 4 };
const finished = {
  version: 2,
  usage,
  choices: [
    {
      generated: { version: 2, finishReason: 'stop', usage },
      answer: { role: 'assistant', content: 'hi' },
      recorded: true,
    },
  ],
} as unknown as FinishedAnswer;
const accepted = {
  id: 'resp_1',
  created: 1,
  keyId: 'ann',
  adapter: 'alice',
  chat: { model: 'm', ignored: [], generation: { messages: [] } },
} as unknown as AcceptedRequest;

test('a replayed response is not cached again, because it may have been deleted', () => {
  const kept: string[] = [];
  const form = responsesForm({ model: 'm', input: 'hi' }, { remember: (id) => kept.push(id) });
  for (const shown of [form.show(accepted, 'replay'), form.show(accepted)]) {
    expect(shown.body(finished)).toMatchObject({ id: 'resp_1' });
    shown.last(finished);
  }
  expect(kept).toEqual(['resp_1', 'resp_1']);
});
