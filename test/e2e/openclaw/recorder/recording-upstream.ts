import type { ServerResponse } from 'node:http';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import type { OpenClawRequest } from '../../../openclaw-requests/requests.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  upstreamDouble,
  usageFrame,
} from '../../serving-upstream-double.ts';

export type Reply =
  | { readonly kind: 'says'; readonly text: string; readonly reasoning?: string }
  | { readonly kind: 'calls'; readonly name: string; readonly arguments: object }
  /** closes the connection without an answer */
  | { readonly kind: 'drops' };

export type RecordingUpstream = {
  /** with its /v1 */
  readonly url: string;
  readonly requests: readonly OpenClawRequest[];
  readonly close: () => Promise<void>;
};

/** The answer of a scenario to request number `n`, from 1. */
export type Answer = (messages: readonly ChatMessage[], n: number) => Reply | Promise<Reply>;

/** A scripted model behind an OpenAI-compatible endpoint that keeps all requests. */
export async function recordingUpstream(answer: Answer): Promise<RecordingUpstream> {
  const double = await upstreamDouble();
  const requests: OpenClawRequest[] = [];
  double.script(async ({ headers, body }, response) => {
    const n = requests.length + 1;
    const given = body as OpenClawRequest['body'];
    const time = new Date().toISOString();
    const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const place = requests.push({
      time,
      outcome: 'dropped',
      headers: Object.fromEntries(texts),
      body: given,
    });
    const reply = await answer(given.messages, n);
    if (reply.kind !== 'drops') requests[place - 1] = { ...requests[place - 1]!, outcome: 'answered' };
    send(response, n, reply);
  });
  return { url: double.url, requests, close: double.close };
}

function send(response: ServerResponse, n: number, reply: Reply): void {
  switch (reply.kind) {
    case 'drops':
      response.destroy();
      return;
    case 'calls': {
      const call = { name: reply.name, arguments: JSON.stringify(reply.arguments) };
      const parts = [{ index: 0, id: `call_${n}`, type: 'function', function: call }];
      sendFrames(response, [deltaFrame({ tool_calls: parts }), finishFrame('tool_calls'), usageFrame(9, 9)]);
      return;
    }
    case 'says': {
      const thought =
        reply.reasoning === undefined ? [] : [deltaFrame({ reasoning_content: reply.reasoning })];
      const frames = [...thought, deltaFrame({ content: reply.text }), finishFrame('stop'), usageFrame(9, 9)];
      sendFrames(response, frames);
    }
  }
}
