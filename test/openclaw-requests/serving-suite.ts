import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServingFolder, servingFolder } from '../e2e/serving-process.ts';
import { type UpstreamDouble, upstreamDouble } from '../e2e/serving-upstream-double.ts';
import { replay, scriptAnswer } from './replay.ts';
import { answerShown, type OpenClawRequests } from './requests.ts';

/** OpenClaw's requests against the real serving process. `load` is called when a test runs. */
export function servingSuite(name: string, load: () => OpenClawRequests): void {
  describe(name, () => {
    let folder: ServingFolder;
    afterAll(() => folder.dispose());
    beforeAll(async () => {
      folder = await servingFolder();
    });

    test('are answered and streamed by a policy with a small context', async () => {
      const serving = await folder.start();
      for (const [name, { requests }] of Object.entries(load())) {
        for (const [index, request] of requests.entries()) {
          const asked = request.body.max_completion_tokens as number;
          const answer = await replay(serving, request, { max_completion_tokens: Math.min(asked, 8) });
          expect(answer.finishReason, `${name} ${index + 1}`).toMatch(/^(stop|length|tool_calls)$/);
          expect(answer.usage).toMatchObject({ prompt_tokens: expect.any(Number) });
        }
      }
      expect(await folder.events('dead-letters')).toEqual([]);
      await serving.stop();
    });

    test('get from an upstream engine what the next request shows, and are recorded as they came', async () => {
      const upstream: UpstreamDouble = await upstreamDouble();
      const serving = await folder.start(['--engine', 'upstream', '--upstream-url', upstream.url]);
      let replayed = 0;
      for (const { requests } of Object.values(load())) {
        for (const [index, request] of requests.entries()) {
          const answer = answerShown(requests, index);
          if (answer === undefined) continue;
          const { content, tool_calls: calls } = answer;
          scriptAnswer(upstream, answer);
          const heard = await replay(serving, request);
          expect(heard.text).toBe(content ?? '');
          expect(heard.toolCalls.map((call) => call.function)).toEqual(
            (calls ?? []).map((call) => call.function),
          );
          expect(heard.finishReason).toBe(calls === undefined ? 'stop' : 'tool_calls');
          expect(upstream.calls.at(-1)!.body.messages).toEqual(request.body.messages);
          const fact = (await folder.events('conversations')).find(({ id }) => id === heard.id);
          expect(fact!.data).toMatchObject({
            messages: request.body.messages,
            tools: request.body.tools,
            live: true,
          });
          expect(fact!.traceparent).toBe(request.headers.traceparent);
          replayed += 1;
        }
      }
      expect(replayed).toBeGreaterThanOrEqual(5);
      await upstream.close();
    });
  });
}
