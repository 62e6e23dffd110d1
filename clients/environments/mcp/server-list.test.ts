import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { expandServer, readServers } from './server-list.ts';

function read(content: unknown) {
  const folder = mkdtempSync(join(tmpdir(), 'clawloop-servers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'servers.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return readServers(path);
}

test('servers are commands or addresses; unknown members are ignored', () => {
  expect(
    read({
      mcpServers: {
        files: { command: 'npx', args: ['-y', 'server'], disabled: false },
        far: { url: 'https://example.org/mcp' },
        old: { type: 'sse', url: 'http://127.0.0.1:3001/sse', headers: { authorization: 'x' } },
      },
    }),
  ).toMatchObject({
    files: { command: 'npx', args: ['-y', 'server'], env: {} },
    far: { type: 'http', url: 'https://example.org/mcp', headers: {} },
    old: { type: 'sse', headers: { authorization: 'x' } },
  });
});

test.each([
  ['{', /must be JSON such as/],
  [{}, /must be JSON such as/],
  [{ mcpServers: { a: { args: [] } } }, /must be JSON such as/],
  [{ mcpServers: {} }, /names no server/],
  [{ mcpServers: { a: { url: 'ftp://x' } } }, /url of 'a' must be an http address/],
])('%j is refused', (content, reason) => expect(() => read(content)).toThrow(reason));

const variable = (name: string) => `\${${name}}`;

test('variables are replaced in all texts of a server', () => {
  const server = {
    command: `${variable('HOME')}/server`,
    args: [variable('FOLDER'), variable('PORT:-80'), '$FOLDER', variable('EMPTY:-')],
    env: { KEY: variable('KEY') },
  };
  const variables = { HOME: '/home/ann', FOLDER: '/tmp/a', KEY: 'k' };
  expect(expandServer(server, variables)).toEqual({
    command: '/home/ann/server',
    args: ['/tmp/a', '80', '$FOLDER', ''],
    env: { KEY: 'k' },
  });
  expect(() => expandServer(server, { HOME: '/home/ann' })).toThrow('the variable FOLDER');
});
