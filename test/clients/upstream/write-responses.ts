import type { Written } from './written.ts';

/** OpenAI's responses. */
export async function writeResponses({ asked, reply, n, promptTokens, stream }: Written): Promise<void> {
  const part = { type: 'output_text', text: reply.text, annotations: [] };
  const message = {
    type: 'message',
    id: `msg_${n}`,
    role: 'assistant',
    status: 'completed',
    content: [part],
  };
  const called = reply.call && {
    type: 'function_call',
    id: `fc_${n}`,
    call_id: `call_${n}`,
    status: 'completed',
    name: reply.call.name,
    arguments: JSON.stringify(reply.call.arguments),
  };
  const completion = stream.words.length;
  const whole = {
    id: `resp_${n}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    model: asked.model,
    output: [message, ...(called === undefined ? [] : [called])],
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: completion,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + completion,
    },
  };
  if (!asked.streams) {
    stream.whole(whole);
    return;
  }
  let sequence_number = 0;
  const send = (type: string, more: object) =>
    stream.event(type, { type, sequence_number: sequence_number++, ...more });
  const place = { item_id: message.id, output_index: 0, content_index: 0 };
  const emptyMessage = { ...message, status: 'in_progress', content: [] };
  send('response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } });
  send('response.output_item.added', { output_index: 0, item: emptyMessage });
  send('response.content_part.added', { ...place, part: { ...part, text: '' } });
  for (const delta of stream.words) {
    send('response.output_text.delta', { ...place, delta });
    if (await stream.isClosedAfterPause()) return;
  }
  send('response.output_text.done', { ...place, text: reply.text });
  send('response.content_part.done', { ...place, part });
  send('response.output_item.done', { output_index: 0, item: message });
  if (called !== undefined) {
    send('response.output_item.added', { output_index: 1, item: { ...called, status: 'in_progress' } });
    send('response.output_item.done', { output_index: 1, item: called });
  }
  send('response.completed', { response: whole });
  stream.end();
}
