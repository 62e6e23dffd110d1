import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../../shared/chat/message.ts';
import { tool, user } from '../../testing/events.ts';
import { readSignals } from './signals.ts';

const vote = (result: ChatMessage) => readSignals({ messages: [user('do it')], next: [result] }).vote;
const failed = (content: string): ChatMessage => ({ ...tool(content), is_error: true });
const readme = `# Reader\n\nReads files. ${'It reads a file and prints what is in it. '.repeat(80)}`;

test.each([
  ['a page that mentions an error', '<html>Welcome. If you see "file not found", reload. Great bags!</html>'],
  ['a page about errors', `<html>${'Error: the door is shut. It does not exist. '.repeat(100)}</html>`],
  ['a file that ends with one', `${readme}\nError: file not found\npermission denied`],
  ['a file that begins with its usage', `Usage: reader [options] FILE\n${readme}`],
  ['a file about errors', `Error handling in seven steps\n\n${readme}`],
  [
    'a log that was read',
    `12:01 start\n12:02 KeyError: 3\n12:03 Process exited with code 1 again\n${readme}`,
  ],
  ['a measurement with its error', '{"temperature":21.5,"error":0.5,"unit":"C"}'],
  ['a list without errors', '{"errors":[],"items":[1]}'],
  ['a long document with a field of that name', JSON.stringify({ error: 'no such word', text: readme })],
  ['a long document with a status', JSON.stringify({ status: 451, title: 'Fahrenheit', text: readme })],
  ['a long document with an exit code', JSON.stringify({ exit_code: 1, page: readme })],
  ['a long document that says it is an error', JSON.stringify({ is_error: true, page: readme })],
  ['a search that found an error', 'a.ts:3: throw new Error: does not exist\nb.ts:9: permission denied'],
  ['a failure that the call marks as none', '{"is_error":false,"result":"Error: none"}'],
])('%s is not a failed call', (_, output) => {
  expect(vote(tool(output))).toBe(0);
});

test.each([
  ['what the client marks as an error', failed('no such city')],
  ['a marked error with a long text', failed(readme)],
  ['a marked error whose body speaks of time', failed(`404\n${readme}\nThe bus timed out of service.`)],
  ['an exit code in a result', tool('{"exit_code":1,"stdout":"the bus timed out","stderr":""}')],
  ['an exit code in a long result', tool(JSON.stringify({ exit_code: 2, stdout: readme }))],
  ['an exit code in the last line', tool(`${readme}\nProcess exited with code 1`)],
  ['an exit code in the first line', tool(`Exit code: 127\n${readme}`)],
  ['a status of HTTP', tool('HTTP/1.1 404 Not Found\n\nThis page timed out for ever.')],
  [
    'a status in a short result',
    tool('{"status":404,"message":"no such page; it never timed out before, did it"}'),
  ],
  ['an error in a short result', tool('{"error":{"message":"unknown city","code":7}}')],
  [
    'an error whose text hides behind a busy service',
    tool('Error: no such page\n\nrate limit, timed out, ECONNRESET'),
  ],
  ['a shell that does not know the command', tool('sh: 1: foo: not found')],
  ['a shell that finds no file', tool("ls: cannot access 'x': No such file or directory")],
])('%s is a failed call', (_, result) => {
  expect(vote(result)).toBe(-1);
});

test.each([
  ['a service that is down', tool('Error: connect ECONNREFUSED 10.0.0.1:80')],
  ['a service that did not answer', failed('Request timed out after 30 s')],
  ['a busy service', tool('{"status":429,"error":"too many requests"}')],
  ['a gateway', tool('HTTP/1.1 503 Service Unavailable')],
])("%s is nobody's fault", (_, result) => {
  expect(vote(result)).toBe(0);
});
