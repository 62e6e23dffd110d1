import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anyRequest, type WireRequest } from './serving-fuzz-requests.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';

const REQUESTS = 6_000;
const AT_ONCE = 12;

type Outcome = { readonly request: WireRequest; readonly status: number; readonly body: string };

/** 202: the end of a session. */
const isTaken = (status: number) => status === 200 || status === 202;

describe('every HTTP request', () => {
  let folder: ServingFolder;
  let serving: ServingProcess;
  beforeAll(async () => {
    folder = await servingFolder();
    // Such a short context also keeps the valid requests short.
    serving = await folder.start(['--context-tokens', '64', '--max-body-bytes', '100000']);
  });
  afterAll(() => folder.dispose());

  test('is answered, or refused in the shape of OpenAI without an event; nothing crashes', async () => {
    const pool = new Pool(serving.url, { connections: AT_ONCE });
    const requests = fc.sample(anyRequest, { numRuns: REQUESTS, seed: 11 });
    const outcomes: Outcome[] = [];
    const queue = requests.values();
    const worker = async () => {
      for (const request of queue) {
        const { statusCode: status, body } = await pool.request({
          method: request.method as 'POST',
          path: request.path,
          headers: request.headers,
          body: request.body ?? null,
        });
        outcomes.push({ request, status, body: await body.text() });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await pool.close();

    expect(outcomes).toHaveLength(REQUESTS);
    for (const { request, status, body } of outcomes) {
      const seen = `${JSON.stringify(request)} -> ${status} ${body.slice(0, 500)}`;
      expect(isTaken(status) || (status >= 400 && status < 500), seen).toBe(true);
      if (isTaken(status)) expect(body, seen).not.toContain('"error":{');
      else {
        expect(JSON.parse(body), seen).toEqual({
          error: {
            message: expect.stringMatching(/./),
            type: expect.stringMatching(/^[a-z_]+$/),
            param: expect.toSatisfy((param) => param === null || typeof param === 'string'),
            code: expect.stringMatching(/^[a-z_]+$/),
          },
        });
      }
    }
    const refused = outcomes.filter(({ status }) => !isTaken(status)).length;
    expect(refused).toBeGreaterThan(REQUESTS / 3);
    expect(REQUESTS - refused).toBeGreaterThan(REQUESTS / 20);
    expect(serving.isAlive()).toBe(true);

    const events = await folder.events('conversations');
    const answered = outcomes
      .filter(({ status }) => status === 200)
      .map(({ body }) => /"id":"(chatcmpl-[^"]+)"/.exec(body)?.[1])
      .filter((id) => id !== undefined);
    const completed = events.filter(({ type }) => type === 'interaction.completed').map(({ id }) => id);
    const isFurtherChoice = (id: string) =>
      completed.includes(id.replace(/-\d{1,3}$/, '')) && /-\d{1,3}$/.test(id);
    expect(completed.filter((id) => !isFurtherChoice(id)).sort()).toEqual(answered.sort());
    expect(events.filter(({ type }) => type === 'interaction.failed')).toEqual([]);
    const given = outcomes.filter(({ status, body }) => status === 200 && body.includes('clawloop.feedback'));
    expect(events.filter(({ type }) => type === 'feedback.given')).toHaveLength(given.length);
    expect(await folder.events('dead-letters')).toEqual([]);

    const after = await serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'still there?' }],
    });
    expect(after.choices).toHaveLength(1);
    expect(serving.output()).not.toMatch(/"level":(50|60)/);
  });
});
