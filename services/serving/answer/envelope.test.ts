import { expect, test } from 'vitest';
import { laneOf } from '../sessions/lane.ts';
import { readEnvelope } from './envelope.ts';

test('any session header names the session, without the compaction count', () => {
  expect(readEnvelope({ 'x-session-id': 'probe-1:2' }).session).toBe('probe-1');
  expect(readEnvelope({ session_id: 'probe-1' }).session).toBe('probe-1');
  expect(readEnvelope({ 'x-session-affinity': 'a:b:0' }).session).toBe('a:b');
  expect(readEnvelope({}, 'from-body').session).toBe('from-body');
  expect(readEnvelope({ 'x-session-id': 'header' }, 'body').session).toBe('header');
  expect(readEnvelope({ 'x-session-id': ' ' }).session).toBeUndefined();
  expect(readEnvelope({}, 'half \ud83d').session).toBe('half \ufffd');
});

test('session names with control characters are refused', () => {
  for (const name of ['a\u001b]0;x\u0007', 'a\u009b31m', 'a\nb', 'a\u007f']) {
    expect(() => readEnvelope({}, name)).toThrow(/must not contain control characters/);
    expect(() => readEnvelope({ 'x-session-id': name })).toThrow(/must not contain control characters/);
  }
});

test('a UTF-8 header and the body name the same session', () => {
  for (const name of ['Größe', 'À la carte', '会话一', '👩‍👩‍👧'])
    expect(readEnvelope({ 'x-session-id': Buffer.from(name).toString('latin1') }).session).toBe(name);
  expect(readEnvelope({ 'x-session-id': 'caf\u00e9' }).session).toBe('café'); // Latin-1 itself
});

test('malformed headers are refused, malformed trace headers ignored', () => {
  expect(() => readEnvelope({ 'x-turn-type': 'sideways' })).toThrow(/main or side/);
  expect(() => readEnvelope({ 'x-session-id': 'x'.repeat(600) })).toThrow(/too long/);
  expect(readEnvelope({ traceparent: 'nonsense' }).traceparent).toBeUndefined();
});

test('the lane depends on the key and the explicit session', () => {
  const lane = laneOf('key', undefined);
  expect(laneOf('key', undefined)).toBe(lane);
  expect(
    new Set([lane, laneOf('key', ''), laneOf('key', 's'), laneOf('keys', ''), laneOf('other', 's')]).size,
  ).toBe(5);
});
