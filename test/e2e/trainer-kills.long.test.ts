import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createRandom } from '../../shared/policy/model/random.ts';
import { until } from './harness/clawloop.ts';
import { endedOnce, endings } from './trainer-endings.ts';
import { openTrainerFolder } from './trainer-process.ts';

test('a batch ends once, although the trainer is killed and restarted at any moment', async () => {
  const { start, submit, settled, events, replay, head, dispose } = await openTrainerFolder();
  onTestFinished(dispose);
  const random = createRandom('moments of death');
  for (const n of [1, 2]) {
    await submit(n, { length: 200 });
    for (let kill = 0; kill < 4; kill++) {
      const trainer = start(['--max-strikes', '50']);
      // once during the start, then around the step, which takes about 300 ms including commit and events
      if (kill > 0)
        await until(
          'it trains',
          () => /"msg":"training started"/.test(trainer.output()) || head().open === null,
        );
      await delay(random() * 400);
      await trainer.end('SIGKILL');
    }
    const last = start(['--max-strikes', '50']);
    expect(await settled(n)).toMatchObject({ head: n });
    await last.end('SIGTERM');
    expect(endings(events(), n)).toEqual(endedOnce(n));
  }
  expect((await replay()).code).toBe(0);
});
