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

test('a session has no control characters, as the name of a task has none', () => {
  for (const name of ['a\u001b]0;x\u0007', 'a\u009b31m', 'a\nb', 'a\u007f']) {
    expect(() => readEnvelope({}, name)).toThrow(/no control characters/);
    expect(() => readEnvelope({ 'x-session-id': name })).toThrow(/no control characters/);
  }
});

test('a session that a header names in UTF-8 is the one that the body names', () => {
  for (const name of ['Größe', 'À la carte', '会话一', '👩‍👩‍👧'])
    expect(readEnvelope({ 'x-session-id': Buffer.from(name).toString('latin1') }).session).toBe(name);
  expect(readEnvelope({ 'x-session-id': 'caf\u00e9' }).session).toBe('café'); // Latin-1 itself
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
