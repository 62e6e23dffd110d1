import { expect, test } from 'vitest';
import { readEnvelope } from './envelope.ts';

const codex = (told: object) => ({ 'x-codex-turn-metadata': JSON.stringify(told) });

test('Claude Code and Codex name their sessions in headers of their own', () => {
  expect(readEnvelope({ 'x-claude-code-session-id': '42f5' })).toMatchObject({ session: '42f5' });
  expect(readEnvelope({ 'session-id': 'root', 'thread-id': 'root' })).toMatchObject({ session: 'root' });
  // threads of one session are conversations of their own
  expect(readEnvelope({ 'session-id': 'root', 'thread-id': 'other' })).toMatchObject({ session: 'other' });
});

test('what the client says to ClawLoop comes before what a program says to anybody', () => {
  const program = { 'x-claude-code-session-id': 'theirs', 'x-claude-code-agent-id': 'a1' };
  expect(readEnvelope({ ...program, 'x-session-id': 'ours' })).toMatchObject({ session: 'ours' });
  expect(readEnvelope(program, 'body').session).toBe('body');
  expect(readEnvelope({ ...program, 'x-turn-type': 'main' }).turnType).toBe('main');
});

test('requests of subagents and of the program itself are side requests', () => {
  expect(readEnvelope({ 'x-claude-code-agent-id': 'a1' }).turnType).toBe('side');
  expect(readEnvelope({ 'x-claude-code-request-class': 'compaction' }).turnType).toBe('side');
  expect(readEnvelope(codex({ request_kind: 'compaction', agent_name: '/root' })).turnType).toBe('side');
  expect(readEnvelope(codex({ request_kind: 'turn', agent_name: '/root/worker' })).turnType).toBe('side');
});

test('a turn of the main agent says nothing of its type: its content tells', () => {
  expect(readEnvelope({ 'x-claude-code-request-class': 'main' }).turnType).toBeUndefined();
  expect(readEnvelope(codex({ request_kind: 'turn', agent_name: '/root' })).turnType).toBeUndefined();
});

test('what cannot be read says nothing', () => {
  for (const text of ['', '{', '[]', '"turn"', '{"request_kind":7}', 'null'])
    expect(readEnvelope({ 'x-codex-turn-metadata': text })).toMatchObject({ turnType: undefined });
  // it is long, and holds more than is read
  const long = codex({ request_kind: 'turn', workspaces: 'x'.repeat(2000) });
  expect(readEnvelope(long).turnType).toBeUndefined();
});
