import type { ServerResponse } from 'node:http';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  upstreamDouble,
  usageFrame,
} from '../serving-upstream-double.ts';

export type PolicyMessage = { readonly role: string; readonly content?: string | null };

/** An answer of the policy: a text, or one call. */
export type PolicyAnswer = string | { readonly name: string; readonly arguments: object };

export type PolicyRequest = {
  readonly messages: readonly PolicyMessage[];
  /** number of answers before this one */
  readonly step: number;
  /** counts conversations from 0, in the order of their first requests */
  readonly conversation: number;
};

/**
 * A model behind an OpenAI-compatible endpoint whose answers a function decides. Token ids and log-probs come with
 * each answer, as vLLM sends them. It recognises a conversation by its seed, which grows by one with each answer.
 */
export async function scriptedPolicy(decide: (request: PolicyRequest) => PolicyAnswer) {
  const double = await upstreamDouble();
  const conversations = new Map<number, number>();
  double.script(({ body }, response) => {
    const { messages, seed } = body as { readonly messages: readonly PolicyMessage[]; readonly seed: number };
    const step = messages.filter(({ role }) => role === 'assistant').length;
    const first = seed - step;
    const conversation = conversations.get(first) ?? conversations.size;
    conversations.set(first, conversation);
    send(response, messages, decide({ messages, step, conversation }), double.calls.length);
  });
  return { url: double.url, close: double.close };
}

function send(response: ServerResponse, messages: readonly PolicyMessage[], answer: PolicyAnswer, n: number) {
  const delta =
    typeof answer === 'string'
      ? { content: answer }
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${n}`,
              type: 'function',
              function: { name: answer.name, arguments: JSON.stringify(answer.arguments) },
            },
          ],
        };
  sendFrames(response, [
    deltaFrame(
      delta,
      { token_ids: [1], logprobs: { content: [{ token: '0', logprob: -0.5 }] } },
      { prompt_token_ids: [n, ...Array(messages.length).fill(0)] },
    ),
    finishFrame(typeof answer === 'string' ? 'stop' : 'tool_calls'),
    usageFrame(messages.length + 1, 1),
  ]);
}
