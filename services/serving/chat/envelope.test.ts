import { expect, test } from 'vitest';
import { readEnvelope } from './envelope.ts';
import { laneOf } from './lane.ts';

test('a session comes from whichever header names it, without the count of compactions', () => {
  expect(readEnvelope({ 'x-session-id': 'probe-1:2' }).session).toBe('probe-1');
  expect(readEnvelope({ session_id: 'probe-1' }).session).toBe('probe-1');
  expect(readEnvelope({ 'x-session-affinity': 'a:b:0' }).session).toBe('a:b');
  expect(readEnvelope({}, 'from-body').session).toBe('from-body');
  expect(readEnvelope({ 'x-session-id': 'header' }, 'body').session).toBe('header');
  expect(readEnvelope({ 'x-session-id': ' ' }).session).toBeUndefined();
  expect(readEnvelope({}, 'half \ud83d').session).toBe('half \ufffd');
});

test('what is malformed is refused, or ignored where it is only for tracing', () => {
  expect(() => readEnvelope({ 'x-turn-type': 'sideways' })).toThrow(/main or side/);
  expect(() => readEnvelope({ 'x-session-id': 'x'.repeat(600) })).toThrow(/too long/);
  expect(readEnvelope({ traceparent: 'nonsense' }).traceparent).toBeUndefined();
});

test('a lane is of the key and the explicit session', () => {
  const lane = laneOf('key', undefined);
  expect(laneOf('key', undefined)).toBe(lane);
  expect(
    new Set([lane, laneOf('key', ''), laneOf('key', 's'), laneOf('keys', ''), laneOf('other', 's')]).size,
  ).toBe(5);
});
