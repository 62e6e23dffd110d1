import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { servingForSuite } from '../e2e/serving-process.ts';

// Stored responses: continued, retrieved and deleted by id, also at another replica.

const on = servingForSuite(['--model', 'claw-nano']);
/** Greedy, so that two requests are answered alike. */
const greedy = { model: 'clawloop', max_output_tokens: 40, temperature: 0 };

test('a conversation continues by the id of its last response, also after a restart', async () => {
  const first = await on.serving.client.responses.create({
    ...greedy,
    instructions: 'Be brief.',
    input: 'hello',
  });
  const goOn = (by: OpenAI) =>
    by.responses.create({ ...greedy, previous_response_id: first.id, input: 'thank you' });
  const second = await goOn(on.serving.client);
  expect(second.previous_response_id).toBe(first.id);
  const other = await on.folder.start(['--model', 'claw-nano']); // this replica has never received the first request
  const again = await goOn(other.client);
  expect(again.output_text).toBe(second.output_text);
  const [before, after, afterRestart] = [
    await on.folder.interaction(first.id),
    await on.folder.interaction(second.id),
    await on.folder.interaction(again.id),
  ];
  expect(after.messages).toEqual([
    { role: 'user', content: 'hello' },
    before.answer,
    { role: 'user', content: 'thank you' },
  ]);
  expect(afterRestart.messages).toEqual(after.messages);
  expect(rollingHashes(after.messages)).toContain(rollingHashes([...before.messages, before.answer]).at(-1));
  const lost = on.serving.client.responses.create({
    ...greedy,
    previous_response_id: 'resp_none',
    input: 'hi',
  });
  await expect(lost).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
});

test('a response is returned and deleted by its id, also by another replica and after a restart', async () => {
  const parameters = { type: 'object', properties: {} };
  const created = await on.serving.client.responses.create({
    ...greedy,
    instructions: 'Be brief.',
    input: 'hello',
    metadata: { where: 'here' },
    tools: [{ type: 'function', name: 'look', parameters, strict: null }],
    tool_choice: 'none',
  });
  const again = await on.serving.client.responses.retrieve(created.id);
  expect(again).toMatchObject({ ...created, _request_id: expect.any(String) });
  expect(again.output_text).toBe(created.output_text);
  const other = (await on.folder.start(['--model', 'claw-nano'])).client;
  expect(await other.responses.retrieve(created.id)).toMatchObject({
    ...created,
    _request_id: expect.any(String),
  });
  await on.serving.client.responses.delete(created.id);
  const gone = { status: 404, code: 'response_not_found' };
  await expect(on.serving.client.responses.retrieve(created.id)).rejects.toMatchObject(gone);
  await expect(on.serving.client.responses.delete(created.id)).rejects.toMatchObject(gone);
  const goOn = { ...greedy, previous_response_id: created.id, input: 'and?' };
  await expect(on.serving.client.responses.create(goOn)).rejects.toMatchObject({
    code: 'previous_response_not_found',
  });
  await until('the other replica reads the deletion', () =>
    other.responses.retrieve(created.id).then(
      () => undefined,
      (error: { readonly status?: number }) => error.status === 404 || undefined,
    ),
  );
  const last = (await on.folder.start(['--model', 'claw-nano'])).client;
  await expect(last.responses.retrieve(created.id)).rejects.toMatchObject(gone);
  expect(await on.folder.interaction(created.id)).toMatchObject({ api: 'responses' }); // the log is append-only
});

test('a deleted response is not replayed to a repeated request', async () => {
  const { client } = on.serving;
  const once = { headers: { 'Idempotency-Key': 'deleted' } };
  const asked = { ...greedy, input: 'hello' };
  const { id } = await client.responses.create(asked, once);
  const again = await client.responses.create(asked, once);
  expect(again.id).toBe(id);
  await client.responses.delete(id);
  const gone = { status: 410, code: 'answer_deleted', param: 'idempotency-key' };
  await expect(client.responses.create(asked, once)).rejects.toMatchObject(gone);
  await expect(client.responses.create({ ...asked, stream: true }, once)).rejects.toMatchObject(gone);
  const other = (await on.folder.start(['--model', 'claw-nano'])).client; // this replica shares the recorded answers
  await expect(other.responses.create(asked, once)).rejects.toMatchObject(gone);
  const fresh = await client.responses.create(asked, { headers: { 'Idempotency-Key': 'another' } });
  expect(fresh.id).not.toBe(id);
});

test('an answer that is not stored cannot be continued, referenced or returned; nor can a chat be returned as a response', async () => {
  const { id, output } = await on.serving.client.responses.create({
    ...greedy,
    input: 'hello',
    store: false,
  });
  const goOn = on.serving.client.responses.create({ ...greedy, previous_response_id: id, input: 'and?' });
  await expect(goOn).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
  const reference = { type: 'item_reference' as const, id: output[0]!.id! };
  const refer = on.serving.client.responses.create({
    ...greedy,
    input: [reference, { role: 'user', content: 'and?' }],
  });
  await expect(refer).rejects.toMatchObject({ status: 400, param: 'input[0]' });
  const chat = await on.serving.client.chat.completions.create({
    model: 'clawloop',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
  });
  for (const one of [id, chat.id, 'resp_none'])
    await expect(on.serving.client.responses.retrieve(one), one).rejects.toMatchObject({ status: 404 });
  const other = (await on.folder.start(['--model', 'claw-nano'])).client;
  await expect(other.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
});
