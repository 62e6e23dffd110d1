import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, pythonPackages } from '../../conformance/python-packages.ts';
import { chatAndReact } from '../harness/chat-and-react.ts';
import { until } from '../harness/clawloop.ts';
import { loopOnFolder } from '../harness/loop-on-folder.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const python = await pythonPackages(beside('./requirements.txt'), ['opentelemetry.proto']);

type ReadSpan = {
  readonly service: string;
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly milliseconds: number;
  readonly links: readonly string[];
};

describe.skipIf(python.missing !== undefined)(`traces from all services ${python.missing ?? ''}`, () => {
  const on = loopOnFolder();
  let receiver: OtlpReceiver;
  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    await on.start('--collector-batch-size', '2', '--otlp-endpoint', receiver.url);
  });
  afterAll(async () => receiver?.close());

  const read = (): readonly ReadSpan[] =>
    execFileSync('python3', [beside('./read_spans.py')], {
      env: environmentOf(python),
      input: receiver.bodies.map((body) => `${body.toString('base64')}\n`).join(''),
      maxBuffer: 2 ** 26,
    })
      .toString()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ReadSpan);

  test('a request of a client is followed to the weights that it makes, by the official protocol', async () => {
    const clientTraces: string[] = [];
    await chatAndReact(async (messages) => {
      const trace = (clientTraces.length + 1).toString(16).padStart(32, '0');
      clientTraces.push(trace);
      const response = await fetch(`${on.loop.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', traceparent: `00-${trace}-00000000000000ff-01` },
        body: JSON.stringify({ model: 'clawloop', messages, max_tokens: 160 }),
      });
      const body = (await response.json()) as { choices: { message: { content: string } }[] };
      return body.choices[0]!.message.content;
    });
    await until('v1 is loaded', async () =>
      (await on.run('topics', 'tail', 'training', '--type', 'policy.loaded', '--json')).includes(
        '"version":1',
      ),
    );
    await on.loop.stop(); // sends what is left
    const spans = read();
    const loaded = spans.find(({ name }) => name === 'policy.loaded')!;
    const version = spans.filter(({ traceId }) => traceId === loaded.traceId);
    expect(version.map(({ name, service }) => `${name} ${service}`)).toEqual(
      expect.arrayContaining([
        'batch.submitted clawloop-collector',
        'policy.trained clawloop-trainer',
        'policy.promoted clawloop-trainer',
        'policy.loaded clawloop-serving',
      ]),
    );
    const batch = version.find(({ name }) => name === 'batch.submitted')!;
    expect(batch.links.length).toBeGreaterThanOrEqual(2);
    for (const trace of batch.links) {
      expect(clientTraces).toContain(trace);
      const ofMessage = spans.filter(({ traceId }) => traceId === trace);
      const request = ofMessage.find(({ kind }) => kind === 'SPAN_KIND_SERVER')!;
      expect([request.parentId, request.service]).toEqual(['00000000000000ff', 'clawloop-serving']);
      expect(request.milliseconds).toBeGreaterThan(0);
      const ids = new Set(ofMessage.map(({ spanId }) => spanId));
      const orphans = ofMessage.filter(
        ({ parentId }) => parentId !== '00000000000000ff' && !ids.has(parentId),
      );
      expect(orphans).toEqual([]);
      expect(new Set(ofMessage.map(({ name, service }) => `${name} ${service}`))).toEqual(
        new Set([
          'chat default clawloop-serving',
          'turn.completed clawloop-collector',
          'vote.cast clawloop-judge',
          'judgment.reached clawloop-judge',
          'sample.ready clawloop-collector',
          'sample.batched clawloop-collector',
        ]),
      );
      expect(ofMessage.find(({ name }) => name === 'sample.batched')!.links).toEqual([batch.traceId]);
    }
    for (const body of receiver.bodies) expect(body.includes('pack for a trip')).toBe(false);
  });
});
