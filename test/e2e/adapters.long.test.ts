import OpenAI from 'openai';
import { beforeAll, expect, test } from 'vitest';
import { clawloop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

// Two people, each with a key and an adapter, share one serving and one trainer. The words of one do not change the
// other's policy.

// one person repeats the same question, which is weak evidence itself
const flags = ['--adapters', 'alice,bob', '--collector-batch-size', '2', '--judge-weak-verdict', '0'];
const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];

type Answer = { readonly text: string; readonly logProbs: readonly number[]; readonly version: number };

const on = loopOnFolder(flags);
let keys: Readonly<Record<string, string>>;
const createKey = async (...argv: string[]) => (await on.run('keys', 'create', ...argv)).split('\n')[0]!;

beforeAll(async () => {
  keys = {
    alice: await createKey('alice', '--only-adapter', 'alice'),
    bob: await createKey('bob', '--only-adapter', 'bob'),
  };
});

const chat = (who: string, messages: OpenAI.ChatCompletionMessageParam[], more: object = {}) =>
  new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: keys[who]!, maxRetries: 0 }).chat.completions.create({
    model: 'clawloop',
    messages,
    max_tokens: 160,
    ...more,
  }) as Promise<OpenAI.ChatCompletion>;

/** The greedy answer of a person's policy, with the log-prob of each token. */
async function greedy(who: string, content = 'How do I pack for a weekend trip?'): Promise<Answer> {
  const more = { temperature: 0, max_tokens: 24, logprobs: true };
  const answer = await chat(who, [{ role: 'user', content }], more);
  const [{ message, logprobs }] = answer.choices as [OpenAI.ChatCompletion.Choice];
  const { version } = (answer as unknown as { readonly clawloop: { readonly version: number } }).clawloop;
  return { text: message.content!, logProbs: logprobs!.content!.map(({ logprob }) => logprob), version };
}

/** One person asks, and comments on the answer. */
async function talk(who: string, place: number): Promise<void> {
  const question = `How do I pack for a trip to place number ${place}?`;
  const answer = await chat(who, [{ role: 'user', content: question }]);
  await chat(who, [
    { role: 'user', content: question },
    { role: 'assistant', content: answer.choices[0]!.message.content },
    { role: 'user', content: reactions[place % reactions.length]! },
  ]);
}

/** One person chats until this version of their adapter is served. */
async function teach(who: string, least: number): Promise<void> {
  let place = 0;
  const isServed = async () => {
    await talk(who, place++);
    return (await greedy(who)).version >= least;
  };
  await until(`${who} is served v${least}`, isServed, 180_000);
}

test("one person's words move their own policy, while the other's policy answers as before", async () => {
  const before = { alice: await greedy('alice'), bob: await greedy('bob') };
  expect(before.alice).toEqual(before.bob); // both begin at the base
  const asking = new AbortController();
  const heard: Answer[] = [];
  const asks = (async () => {
    while (!asking.signal.aborted) heard.push(await greedy('bob'));
  })();
  await teach('alice', 2).finally(() => asking.abort());
  await asks;
  expect(heard.length).toBeGreaterThan(3);
  expect(new Set(heard.map(({ text }) => text))).toEqual(new Set([before.bob.text]));
  expect(await greedy('bob')).toEqual(before.bob);
  expect((await greedy('alice')).logProbs).not.toEqual(before.alice.logProbs);
  const list = await on.run('policy', 'list');
  expect(list).toMatch(/^alice\n.*v\d+ +v0 +\d+ +promoted.*\n\nbob\nversion.*\nv0 +base +head +0\n/s);
  expect(list.split('\nbob\n')[1]).not.toContain('v1');
});

test('one trainer serves both at the same time, each with its own lineage', async () => {
  await Promise.all([teach('alice', 3), teach('bob', 1)]);
  // what waits would be the next version before anybody is answered by the one that is gone back to
  await on.run('learning', 'pause', '--adapters', 'alice');
  const { stderr, code } = await clawloop(['policy', 'rollback', '1', '--data-folder', on.folder]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--adapters NAME, one of: alice, bob')]);
  expect(await on.run('policy', 'rollback', '1', '--adapters', 'alice')).toMatch(/the head is v1/);
  await until('v1 of alice is served again', async () => (await greedy('alice')).version === 1);
  expect((await greedy('bob')).version).toBeGreaterThan(0);
  const { stdout } = await clawloop(['doctor', '--data-folder', on.folder]);
  expect(stdout).toMatch(/ok +adapter alice: the head is v1, served.*adapter bob: the head is v[1-9]/s);
  await on.run('learning', 'resume', '--adapters', 'alice');
  expect(await on.run('audit')).toMatch(/balances/);
});

test('a restart keeps the versions of both', async () => {
  expect(await on.run('learning', 'pause')).toMatch(/alice: learning is paused.*bob: learning is paused/s);
  await until('no step is open', async () => !/ training/.test(await on.run('policy', 'list')));
  for (const who of ['alice', 'bob']) {
    const [, head] = /^v(\d+) .* head\b/m.exec(await on.run('policy', 'list', '--adapters', who))!;
    await until('the head is served', async () => (await greedy(who)).version === Number(head));
  }
  const before = [await greedy('alice'), await greedy('bob')];
  await on.loop.stop();
  await on.start(...flags);
  expect([await greedy('alice'), await greedy('bob')]).toEqual(before);
  expect(await on.run('replay')).toMatch(/alice v1 +same.*bob v1 +same.* 0 different, 0 not covered/s);
});
