import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { metricsOf } from '../../../infra/docs/metrics-page.ts';
import { until } from '../harness/clawloop.ts';
import { scrape } from './scrape.ts';
import {
  type ServiceName,
  type ServiceProcess,
  serviceNames,
  startService,
  untilReady,
} from './service-process.ts';

/**
 * Tests that a whole loop reports the metrics of docs/operate/metrics.md, with any log and queue. `flags`: their
 * settings, per service.
 */
export function testReportedMetrics(flags: (name: ServiceName) => readonly string[]): void {
  let folder: string;
  let services: Readonly<Record<ServiceName, ServiceProcess>>;
  let urls: Readonly<Record<ServiceName, string>>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-metrics-'));
    const own: Partial<Record<ServiceName, readonly string[]>> = { collector: ['--batch-size', '1'] };
    const start = (name: ServiceName) =>
      [name, startService(name, ['--data-folder', folder, ...(own[name] ?? []), ...flags(name)])] as const;
    services = Object.fromEntries(serviceNames.map(start)) as typeof services;
    const ready = await Promise.all(
      serviceNames.map(async (name) => [name, await untilReady(services[name])] as const),
    );
    urls = Object.fromEntries(ready) as typeof urls;
  });
  afterAll(async () => {
    await Promise.all(Object.values(services).map((service) => service.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  const value = async (service: ServiceName, name: string, labels?: Readonly<Record<string, string>>) =>
    (await scrape(urls[service])).value(name, labels);

  test.each(serviceNames)(
    '%s is alive and ready, and has exactly the metrics of docs/operate/metrics.md',
    async (name) => {
      expect((await fetch(`${urls[name]}/healthz`)).status).toBe(200);
      expect((await fetch(`${urls[name]}/readyz`)).status).toBe(200);
      const { names } = await scrape(urls[name]);
      expect(names).toEqual(metricsOf(name).map((metric) => metric.name));
    },
  );

  test('an answered chat changes the metrics of every service, up to its version', async () => {
    const client = new OpenAI({ baseURL: `${urls.serving}/v1`, apiKey: 'none', maxRetries: 0 });
    const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) =>
      // a seed and enough tokens, because an answer that is cut off does not train
      (await client.chat.completions.create({ model: 'clawloop', messages, max_tokens: 300, seed: 7 }))
        .choices[0]!.message;
    const question = { role: 'user' as const, content: 'What should I wear in deep snow?' };
    const answer = await ask([question]);
    await ask([question, answer, { role: 'user', content: 'Perfect, thank you so much!' }]);
    await until(
      'a turn is completed',
      async () => await value('collector', 'clawloop_turns_total', { outcome: 'completed' }),
    );
    expect(await value('collector', 'clawloop_turns_total', { outcome: 'completed' })).toBe(1);
    await until(
      'it is judged',
      async () => (await value('judge', 'clawloop_verdicts_total', { verdict: 'good' })) === 1,
    );
    expect(await value('judge', 'clawloop_judge_votes_total', { vote: '1' })).toBe(1);
    await until('a step is made', async () => (await value('trainer', 'clawloop_trainer_version')) === 1);
    await until(
      'it is served',
      async () => (await value('serving', 'clawloop_serving_served_version')) === 1,
    );
    expect(await value('collector', 'clawloop_samples_total', { outcome: 'ready' })).toBe(1);
    expect(await value('collector', 'clawloop_batches_submitted_total')).toBe(1);
    const promoted = () => value('trainer', 'clawloop_trainer_batches_total', { outcome: 'promoted' });
    await until('the outcome is counted', async () => (await promoted()) !== undefined);
    expect(await promoted()).toBe(1);
    expect(await value('trainer', 'clawloop_trainer_step_seconds_count')).toBe(1);
    expect(await value('trainer', 'clawloop_trainer_step_seconds_sum')).toBeGreaterThan(0);
    // all obligations are settled, and every fold has read to the end
    await until('nothing is open', async () => {
      const open = await Promise.all(
        (['serving', 'collector', 'judge', 'trainer'] as const).map((name) =>
          value(name, 'clawloop_open_obligations'),
        ),
      );
      return open.every((count) => count === 0);
    });
    expect(await value('trainer', 'clawloop_batch_wait_seconds')).toBe(0);
    for (const [service, fold] of [
      ['collector', 'attribute'],
      ['collector', 'assemble'],
      ['collector', 'submit'],
      ['judge', 'judge'],
      ['trainer', 'trainer'],
    ] as const)
      await until(
        `${fold} is at the end`,
        async () => (await value(service, 'clawloop_fold_lag_records', { fold })) === 0,
      );
    await until(
      'serving is at the end',
      async () => (await value('serving', 'clawloop_view_lag_records')) === 0,
    );
  });
}
