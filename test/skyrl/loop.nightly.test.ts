import OpenAI from 'openai';
import { beforeAll, expect, test } from 'vitest';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { loopOnFolder } from '../e2e/harness/loop-on-folder.ts';
import { describeWithSkyrl, skyrlForSuite } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/loop.nightly.test.ts
// People chat with claw-nano; what they say is judged, trained on SkyRL, and served.

const LIMIT_MS = 30 * 60_000;
const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];

describeWithSkyrl('the whole loop with SkyRL', () => {
  const skyrl = skyrlForSuite(CLAW_NANO, { adapters: 4 });
  const on = loopOnFolder();
  let client: OpenAI;
  beforeAll(async () => {
    const engine = ['--training-engine', 'tinker', '--training-url', skyrl.server.url];
    await on.start(...engine, '--training-model', skyrl.model);
    client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
    const answer = await client.chat.completions.create({
      model: 'clawloop',
      messages,
      max_tokens: 60,
      temperature: 1,
    });
    const { version } = (answer as unknown as { readonly clawloop: { readonly version: number } }).clawloop;
    return { text: answer.choices[0]!.message.content!, version };
  };

  test('chats become versions, which answer the next chats, and the books balance', async () => {
    let place = 0;
    await until(
      'version 2 answers',
      async () => {
        const topic = { role: 'user', content: `How do I pack for trip ${place}?` } as const;
        const { text, version } = await ask([topic]);
        const reaction = reactions[place++ % reactions.length]!;
        await ask([topic, { role: 'assistant', content: text }, { role: 'user', content: reaction }]);
        return version >= 2;
      },
      LIMIT_MS,
    );
    const shown = await on.run('policy', 'show', '1');
    console.log(shown);
    const figure = (name: string) => Number(new RegExp(`^${name} +(\\S+)$`, 'm').exec(shown)?.[1]);
    // serving computed the log-probs here, and SkyRL those of the trainer
    expect(figure('logProbDriftMax')).toBeLessThan(1e-4);
    expect(await on.run('audit')).toMatch(/balances/);
    expect(await on.run('replay')).toMatch(/ 0 different/);
  });
});
