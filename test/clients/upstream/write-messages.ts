import type { Written } from './written.ts';

/** Anthropic's messages. */
export async function writeMessages({ asked, reply, n, promptTokens, stream }: Written): Promise<void> {
  const usage = { input_tokens: promptTokens, output_tokens: stream.words.length };
  const top = { id: `msg_${n}`, type: 'message', role: 'assistant', model: asked.model, stop_sequence: null };
  const stop_reason = reply.call === undefined ? 'end_turn' : 'tool_use';
  const used = reply.call && {
    type: 'tool_use',
    id: `toolu_${n}`,
    name: reply.call.name,
    input: reply.call.arguments,
  };
  if (!asked.streams) {
    const content = [{ type: 'text', text: reply.text }, ...(used === undefined ? [] : [used])];
    stream.whole({ ...top, content, stop_reason, usage });
    return;
  }
  const send = (type: string, more: object = {}) => stream.event(type, { type, ...more });
  send('message_start', { message: { ...top, content: [], stop_reason: null, usage } });
  send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  for (const text of stream.words) {
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
    if (await stream.isClosedAfterPause()) return;
  }
  send('content_block_stop', { index: 0 });
  if (used !== undefined) {
    const partial_json = JSON.stringify(used.input);
    send('content_block_start', { index: 1, content_block: { ...used, input: {} } });
    send('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json } });
    send('content_block_stop', { index: 1 });
  }
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });
  send('message_stop');
  stream.end();
}
