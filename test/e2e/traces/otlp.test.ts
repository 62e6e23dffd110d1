import { expect, onTestFinished, test } from 'vitest';
import { openOtlp } from '../../../shared/tracing/otlp.ts';
import type { Span } from '../../../shared/tracing/spans-of-event.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';

const span: Span = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentId: undefined,
  name: 'batch.submitted',
  kind: 'internal',
  start: 1,
  end: 2,
  attributes: { 'clawloop.adapter': 'default', missing: null },
  links: [],
};
const silent = { info: () => {}, warn: () => {} };

test('spans arrive at /v1/traces in the binary form, at the latest when the service ends', async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(receiver.close);
  const exported = openOtlp(receiver.url, 'collector', silent);
  exported.send([span]);
  await exported.close();
  expect(receiver.headers).toEqual(['POST /v1/traces application/x-protobuf']);
  expect(receiver.bodies[0]!.includes('clawloop-collector')).toBe(true);
  expect(receiver.bodies[0]!.includes('batch.submitted')).toBe(true);
});

test('a receiver that refuses spans is named once, and nothing fails', async () => {
  const receiver = await startOtlpReceiver(400);
  onTestFinished(receiver.close);
  const warned: string[] = [];
  const exported = openOtlp(`${receiver.url}/v1/traces`, 'serving', {
    ...silent,
    warn: (...[, message]: unknown[]) => void warned.push(String(message)),
  });
  exported.send([span]);
  await exported.close();
  expect(warned).toEqual(['cannot export traces; spans are dropped']);
});
