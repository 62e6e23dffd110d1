import OpenAI from 'openai';
import type { Audited } from '../../services/cli/audit/audited.ts';
import { topics } from '../../shared/events/define-event.ts';
import { readTopic } from '../../shared/log/read-topic.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../e2e/harness/clawloop.ts';
import { says, startJudgeServer } from '../e2e/judge-server.ts';
import { rlClient } from '../e2e/rl-client.ts';

type Messages = OpenAI.ChatCompletionMessageParam[];

const REACTIONS = [
  'Perfect, thanks!',
  'No lists, please.',
  'Great, thank you!',
  'Please skip the greeting.',
  'And for two people?',
];

/** Of a judge of mixed opinions, each with a hint of its own, who now and then says neither. */
const opinions = [1, 1, -1, 1, 0, 1, -1, -1, 1, 'x', 1].map(
  (verdict, index) => `\\boxed{${verdict}} [HINT_START]Say it in ${index + 2} sentences.[HINT_END]`,
);

const flags = [
  '--collector-batch-size',
  '3',
  '--collector-idle-ms',
  '2500',
  '--collector-sweep-ms',
  '100',
  '--collector-session-timeout',
  '6',
  '--collector-turn-discount',
  '0.5',
  '--collector-waited-ms',
  '500',
  '--judge-votes',
  '3',
  '--judge-hint-votes',
  '1',
];

/** Runs the whole program in `folder` until everything that was said has its outcome, and stops it. */
export async function recordLog(folder: string): Promise<void> {
  let asked = 0;
  const judge = await startJudgeServer((...request) =>
    says(opinions[asked++ % opinions.length]!)(...request),
  );
  const model = ['--judge-kind', 'openai', '--judge-exam', 'false', '--judge-openai-base-url', judge.baseUrl];
  const loop = await startClawLoop(folder, [...flags, ...model, '--judge-openai-model', 'judge-1']);
  try {
    await talk(loop, folder);
    await until('every obligation is met', () => isSettled(folder));
  } finally {
    await loop.stop();
    await judge.close();
  }
}

/** Every record of a log that nobody writes to, in the order in which the audit reads. */
export async function readLog(folder: string): Promise<readonly Audited[]> {
  const log = await openSqliteLog({ folder: `${folder}/log` });
  const records: Audited[] = [];
  try {
    for (const topic of topics)
      await readTopic(log, topic, (record) => void records.push({ topic, ...record }));
  } finally {
    await log.close();
  }
  return records;
}

async function isSettled(folder: string): Promise<boolean> {
  const { stdout } = await clawloop(['audit', '--json', '--data-folder', folder]);
  const { open } = JSON.parse(stdout) as { readonly open: Readonly<Record<string, number>> };
  return Object.values(open).every((count) => count === 0);
}

async function talk(loop: ClawLoop, folder: string): Promise<void> {
  const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const ask = async (messages: Messages, more: object = {}, headers: Record<string, string> = {}) => {
    const asked = { model: 'clawloop', messages, max_tokens: 200, ...more };
    const { id, choices } = await client.chat.completions.create(asked, { headers });
    return { id, answer: choices[0]!.message.content ?? '' };
  };
  const chat = async (index: number, reaction = REACTIONS[index % REACTIONS.length]!, more: object = {}) => {
    const question = { role: 'user', content: `How do I pack for a trip to place number ${index}?` } as const;
    const { id, answer } = await ask([question], more);
    const next = { role: 'user', content: reaction } as const;
    return { id, react: () => ask([question, { role: 'assistant', content: answer }, next], more) };
  };
  for (let index = 0; index < 10; index++) await (await chat(index)).react();
  const rated = await chat(20, 'And for three people?');
  await clawloop(['feedback', rated.id, 'down', '--url', loop.url, '--comment', 'This is far too long.']);
  await rated.react();
  await chat(21); // nobody answers
  await ask([{ role: 'user', content: 'A title, please.' }], {}, { 'x-clawloop-turn': 'side' });
  await ask([{ role: 'user', content: 'Good morning.' }], { model: 'clawloop@base' });
  await ask([{ role: 'user', content: 'Tell me a story.' }], { max_tokens: 4 });
  const response = await client.responses.create({ model: 'clawloop', input: 'How do I boil an egg?' });
  await client.responses.delete(response.id);
  await rewarded(loop);
  await until('a version is served', async () => {
    const { stdout } = await clawloop(['policy', 'list', '--data-folder', folder]);
    return /v2 .*promoted/.test(stdout);
  });
  await clawloop(['policy', 'rollback', '1', '--data-folder', folder]);
  for (let index = 30; index < 36; index++) await (await chat(index)).react();
}

async function rewarded(loop: ClawLoop): Promise<void> {
  const rl = rlClient(() => loop.url);
  const { api_key } = await rl.start('eggs');
  const client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: api_key, maxRetries: 0 });
  const messages: Messages = [];
  for (const [seed, content] of [
    'How do I boil an egg?',
    'And a softer one?',
    'What goes with it?',
  ].entries()) {
    messages.push({ role: 'user', content });
    const { choices } = await client.chat.completions.create({
      model: 'clawloop',
      messages,
      max_tokens: 300,
      seed,
    });
    messages.push(choices[0]!.message);
  }
  await rl.post('/rl/set_reward', api_key, { reward: 0.8 });
  await rl.post('/rl/end_session', api_key);
  const thrown = await rl.start('thrown away');
  await rl.chat(thrown.api_key, 'hello');
  await rl.post('/rl/end_session', thrown.api_key, { discard: true });
}
