import { deltaFrame, finishFrame, usageFrame } from '../../e2e/serving-upstream-double.ts';
import type { Written } from './written.ts';

/** OpenAI's chat completions. Each answer has token ids and log-probs, as from vLLM. */
export async function writeChat({ asked, reply, n, promptTokens, stream }: Written): Promise<void> {
  const finish = reply.call === undefined ? 'stop' : 'tool_calls';
  const usage = usageFrame(promptTokens, stream.words.length + 1);
  const calls =
    reply.call === undefined
      ? undefined
      : [
          {
            index: 0,
            id: `call_${n}`,
            type: 'function',
            function: { name: reply.call.name, arguments: JSON.stringify(reply.call.arguments) },
          },
        ];
  if (!asked.streams) {
    const message = { role: 'assistant', content: reply.text, ...(calls && { tool_calls: calls }) };
    stream.whole({
      id: `chatcmpl-${n}`,
      object: 'chat.completion',
      created: 0,
      model: asked.model,
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: usage.usage,
    });
    return;
  }
  const top = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 0, model: asked.model };
  const send = (frame: object) => stream.data({ ...top, ...frame });
  let at = 0;
  const token = () => ({
    token_ids: [++at],
    logprobs: { content: [{ token: `${at}`, logprob: -0.5, top_logprobs: [] }] },
  });
  send({ choices: [], prompt_token_ids: [n, ...Array(promptTokens - 1).fill(0)] });
  for (const content of stream.words) {
    send(deltaFrame({ role: 'assistant', content }, token()));
    if (await stream.isClosedAfterPause()) return;
  }
  if (calls !== undefined) send(deltaFrame({ tool_calls: calls }, token()));
  send(finishFrame(finish));
  send({ ...usage, usage: { ...usage.usage, completion_tokens: at, total_tokens: promptTokens + at } });
  stream.end('data: [DONE]\n\n');
}
