import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { until } from '../e2e/harness/clawloop.ts';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import { attributedCalls } from './attributed-calls.ts';
import { pythonPackages } from './python-packages.ts';
import { type Brain, latest, textOf, think } from './scripted-model.ts';

// OpenAI's and Anthropic's Python clients, unmodified. sdks.py describes the behaviour of the model.

const script = fileURLToPath(new URL('python/sdks.py', import.meta.url));
const requirements = fileURLToPath(new URL('python/requirements.txt', import.meta.url));

const on = servingOnScript(givesTokens);

/** A model that refuses requests with "busy" twice: first with 429 and Retry-After, then with 500. Then it answers. */
function model(): Brain {
  const refusals = new Map<string, number>();
  return (messages) => {
    const last = latest(messages).at(-1)!;
    const words = textOf(last);
    if (last.role === 'tool') return { text: `I see: ${words}` };
    if (words === 'silence') return { text: 'Well', hangs: true };
    if (words.includes('warm in Zurich')) return { calls: [['get_weather', { city: 'Zurich' }]] };
    const refused = refusals.get(words) ?? 0;
    refusals.set(words, refused + 1);
    if (words.startsWith('busy') && refused < 2)
      return { fails: refused === 0 ? { status: 429, retryAfter: 1 } : { status: 500 } };
    return { text: 'Hello there' };
  };
}

test('chats, responses and messages: streams, calls, errors, retries, aborts, usage', async ({ skip }) => {
  const packages = await pythonPackages(requirements, ['openai', 'anthropic']);
  if (packages.missing !== undefined) return skip(packages.missing);
  think(on.upstream, model());
  const { stdout } = await promisify(execFile)('python3', [script, on.serving.url], { env: packages.env });
  const checks = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly check: string; readonly ids: readonly string[] });
  expect(checks.map(({ check }) => check)).toEqual([
    'chat_whole_and_streamed',
    'chat_tools',
    'responses',
    'response_tools',
    'messages',
    'message_tools',
    'errors',
    'retries',
    'aborts',
    'in_parallel',
  ]);
  const ids = checks.flatMap((check) => check.ids);
  await until('every answer is in the log', async () => {
    const events = await on.folder.events('conversations');
    return ids.every((id) => events.some((event) => event.id === id));
  });
  for (const [words, calls] of [
    ['py chat tools, False', 2],
    ['py chat tools, True', 2],
    ['py response tools', 2],
    ['py message tools', 2],
  ] as const) {
    const found = await attributedCalls(on.folder, words);
    expect(found, words).toHaveLength(calls);
    expect(new Set(found.map(({ session }) => session)).size, words).toBe(1);
    expect(textOf(found[0]!.next![0]!), words).toBe('4 degrees');
  }
  const [left] = await attributedCalls(on.folder, 'silence');
  expect(left).toMatchObject({
    skipped: 'aborted',
    data: { disconnected: true, answer: { content: 'Well' } },
  });
});
