import { expect, test } from 'vitest';
import { readEnvelope } from './envelope.ts';

const codex = (metadata: object) => ({ 'x-codex-turn-metadata': JSON.stringify(metadata) });

test('headers of Claude Code and Codex name the session', () => {
  expect(readEnvelope({ 'x-claude-code-session-id': '42f5' })).toMatchObject({ session: '42f5' });
  expect(readEnvelope({ 'session-id': 'root', 'thread-id': 'root' })).toMatchObject({ session: 'root' });
  // threads of one session are separate conversations
  expect(readEnvelope({ 'session-id': 'root', 'thread-id': 'other' })).toMatchObject({ session: 'other' });
});

test("ClawLoop's own headers take precedence over those of programs", () => {
  const program = { 'x-claude-code-session-id': 'theirs', 'x-claude-code-agent-id': 'a1' };
  expect(readEnvelope({ ...program, 'x-session-id': 'ours' })).toMatchObject({ session: 'ours' });
  expect(readEnvelope(program, 'body').session).toBe('body');
  expect(readEnvelope({ ...program, 'x-turn-type': 'main' }).turnType).toBe('main');
});

test('requests of subagents and of the program itself are side turns', () => {
  expect(readEnvelope({ 'x-claude-code-agent-id': 'a1' }).turnType).toBe('side');
  expect(readEnvelope({ 'x-claude-code-request-class': 'compaction' }).turnType).toBe('side');
  expect(readEnvelope(codex({ request_kind: 'compaction', agent_name: '/root' })).turnType).toBe('side');
  expect(readEnvelope(codex({ request_kind: 'turn', agent_name: '/root/worker' })).turnType).toBe('side');
});

test('requests of the main agent have no turn type', () => {
  expect(readEnvelope({ 'x-claude-code-request-class': 'main' }).turnType).toBeUndefined();
  expect(readEnvelope(codex({ request_kind: 'turn', agent_name: '/root' })).turnType).toBeUndefined();
});

test('unreadable program headers are ignored', () => {
  for (const text of ['', '{', '[]', '"turn"', '{"request_kind":7}', 'null'])
    expect(readEnvelope({ 'x-codex-turn-metadata': text })).toMatchObject({ turnType: undefined });
  // longer than the part that is read
  const long = codex({ request_kind: 'turn', workspaces: 'x'.repeat(2000) });
  expect(readEnvelope(long).turnType).toBeUndefined();
});
