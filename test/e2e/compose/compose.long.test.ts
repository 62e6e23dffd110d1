import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { makeStandIns } from '../../../infra/docker/stand-ins/make-stand-ins.ts';
import { whyNoContainers } from '../../../infra/docker/stand-ins/podman.ts';
import { createPerson } from '../demo/person.ts';
import { until } from '../harness/clawloop.ts';
import { type Deployment, openDeployment, removeLeftovers } from './deployment.ts';

/** The fields of a Kafka record in the output of kcat. */
type Fact = { readonly type: string; readonly id: string; readonly data: Readonly<Record<string, unknown>> };

const MINUTES = 60_000;
const started = performance.now();
const say = (line: string) =>
  console.log(`compose [${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s] ${line}`);

const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoContainers();
const name = 'the compose file, with real containers';

describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
  let deployment: Deployment;
  let client: OpenAI;
  let served = 0;
  const conversation: OpenAI.ChatCompletionMessageParam[] = [];

  beforeAll(async () => {
    expect(whyNoContainers()).toBeNull();
    await removeLeftovers();
    deployment = await openDeployment(say, 'wasm');
    client = new OpenAI({ apiKey: deployment.apiKey, baseURL: `${deployment.url}/v1` });
    const { others } = await makeStandIns(say);
    say('building the image of the services');
    await Promise.all([deployment.build(), others]);
    say('built');
  }, 12 * MINUTES);

  afterAll(async () => {
    await deployment?.remove();
    say('removed');
  }, 2 * MINUTES);

  const tellIfFailed = () => onTestFailed(async () => console.log(await deployment.logs()));

  /** As `until`; the error ends with the last lines of every container. */
  const untilIn = async <Result>(...wait: Parameters<typeof until<Result>>): Promise<Result> =>
    until(...wait).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await deployment.logs()}`);
    });

  /** Sends the person's next words in one conversation that continues through all tests below. */
  const talk = async (text: string) => {
    conversation.push({ role: 'user', content: text });
    const answer = await client.chat.completions.create({
      model: 'clawloop',
      messages: conversation,
      max_tokens: 60,
    });
    conversation.push({ role: 'assistant', content: answer.choices[0]!.message.content });
    return { id: answer.id, version: (answer as unknown as Marked).clawloop.version };
  };
  type Marked = { readonly clawloop: { readonly version: number } };

  const facts = async (topic: string): Promise<readonly Fact[]> => {
    const read = ['-C', '-b', 'kafka:9092', '-t', `clawloop.${topic}`, '-e', '-q', '-J'];
    const lines = (await deployment.kcat(...read, '-X', 'isolation.level=read_committed')).split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse((JSON.parse(line) as { payload: string }).payload));
  };

  /** Waits until nothing is in flight, then runs the audit. */
  const balances = async () => {
    const audit = await until(
      'the audit balances and no batch is open',
      async () => {
        const { code, stdout } = await deployment.clawloop('audit');
        return code === 0 && !/still open, batch/.test(stdout) && stdout;
      },
      2 * MINUTES,
    );
    expect(audit).toContain('balances');
    return audit;
  };

  test(
    'starts, and chats through the published port make a version that is served',
    async () => {
      tellIfFailed();
      await deployment.up();
      say('serving is ready');
      for (const service of ['serving', 'collector', 'judge', 'trainer', 'console', 'kafka', 'valkey']) {
        const healthy = () =>
          deployment.podman(service, 'healthcheck', 'run', '{}').then(
            () => true,
            () => false,
          );
        await until(`${service} is healthy`, healthy);
      }
      say('every container is healthy');
      await expect(new OpenAI({ apiKey: 'wrong', baseURL: client.baseURL }).models.list()).rejects.toThrow(
        'Incorrect API key',
      );

      const first = await talk('How do I pack for a weekend trip?');
      expect(first.version).toBe(0);
      const person = createPerson(client, 4);
      let sessions = 0;
      const chatOnce = async () => {
        const { versions, failures } = await person.chat(sessions++);
        expect(failures).toBe(0);
        served = Math.max(served, ...versions);
        return served > 0;
      };
      await until('an answer comes from a new version', chatOnce, 3 * MINUTES);
      say(`version ${served} is served after ${sessions} sessions`);
    },
    6 * MINUTES,
  );

  test('a container has the keys that it needs, and writes only to its volume', async () => {
    tellIfFailed();
    const holders: string[] = [];
    for (const service of ['serving', 'collector', 'judge', 'trainer', 'console']) {
      const environment = await deployment.exec(service, 'env');
      if (environment.includes(deployment.apiKey)) holders.push(service);
      await expect(deployment.exec(service, 'touch', '/app/x')).rejects.toThrow(/read-only/i);
      expect((await deployment.exec(service, 'stat', '-c', '%a', '/data')).trim()).toBe('700');
    }
    expect(holders).toEqual(['serving', 'judge', 'console']);
  });

  test('kcat and the console tools of Kafka read the topics and show the folds as groups', async () => {
    tellIfFailed();
    const interactions = await facts('conversations');
    expect(interactions.map(({ type }) => type)).toContain('interaction.completed');
    expect((await facts('training')).map(({ type }) => type)).toContain('policy.promoted');
    say(`kcat: ${interactions.length} facts in conversations`);

    const tool = (script: string, ...words: readonly string[]) =>
      deployment.exec('kafka', `/opt/kafka/bin/${script}.sh`, '--bootstrap-server', 'kafka:9092', ...words);
    const topics = await tool('kafka-topics', '--list');
    for (const topic of ['conversations', 'turns', 'training', 'dead-letters']) {
      expect(topics.split('\n')).toContain(`clawloop.${topic}`);
    }
    const groups = await tool('kafka-consumer-groups', '--describe', '--all-groups');
    for (const group of ['attribute', 'assemble', 'submit', 'judge', 'trainer']) {
      expect(groups).toMatch(new RegExp(`clawloop\\.${group}\\s+clawloop\\.`));
    }
    // it ends after this many ms without a record, which also happens when it joins its group slowly
    await until('the console prints judgments', async () => {
      const printed = await tool(
        'kafka-console-consumer',
        '--topic',
        'clawloop.turns',
        '--from-beginning',
        '--timeout-ms',
        '8000',
        '--isolation-level',
        'read_committed',
        '--formatter-property',
        'print.key=true',
        '--formatter-property',
        'print.headers=true',
      );
      return printed.includes('type:judgment.reached');
    });
    say('kafka-topics, kafka-consumer-groups and kafka-console-consumer agree');
  });

  test('the chat continues without Kafka and the collector, and the log gets its events later', async () => {
    tellIfFailed();
    await deployment.podman('kafka', 'kill', '--signal', 'KILL', '{}');
    say('Kafka is killed');
    const said = [await talk('Please, no lists.'), await talk('Still too long.')];
    // kills everything in the container, so that only the restart policy can start it again
    await deployment.exec('collector', 'sh', '-c', 'kill -KILL -1').catch(() => undefined);
    say('two answers without Kafka; the collector is killed too');
    await deployment.podman('kafka', 'start', '{}');
    await untilIn(
      'what was said is in the log',
      async () => {
        const ids = (await facts('conversations').catch(() => [])).map(({ id }) => id);
        return said.every(({ id }) => ids.includes(id));
      },
      3 * MINUTES,
    );
    say('what was said is in the log');
    await balances();
  });

  test('after a restart the same version is served, the session continues, and the audit balances', async () => {
    tellIfFailed();
    const paused = await deployment.clawloop('learning', 'pause');
    expect(paused.code, paused.stderr).toBe(0);
    const before = await talk('Thanks, that is better.');
    await until('its turn waits for the next state', async () =>
      (await facts('conversations')).some(({ id }) => id === before.id),
    );
    await balances();
    const head = servedVersion((await deployment.clawloop('policy', 'list')).stdout);
    await deployment.down();
    say('down');
    await deployment.up();
    say('up again');
    const after = await talk('And what about shoes?');
    expect(after.version).toBe(head);
    const turn = await untilIn(
      'the earlier turn is completed by the words after the restart',
      async () => (await facts('turns')).find(({ id }) => id === `${before.id}/completed`),
      3 * MINUTES,
    );
    expect(turn.data.next).toMatchObject([{ role: 'user', content: 'And what about shoes?' }]);
    expect(turn.data.sessionBy).toBe('history');
    await balances();
    say('the session continues, and the audit balances');
  });
});

/** From the table of `clawloop policy list`. */
function servedVersion(table: string): number {
  const row = table.split('\n').find((line) => /\bhead\b/.test(line));
  return Number(/^v(\d+)/.exec(row ?? '')?.[1]);
}
