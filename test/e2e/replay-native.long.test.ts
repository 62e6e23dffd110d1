import { afterEach, expect, test } from 'vitest';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { openTrainerFolder, type TrainerFolder } from './trainer-process.ts';

let folder: TrainerFolder | undefined;
afterEach(async () => {
  await folder?.dispose();
  folder = undefined;
});

const needed = nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1';

test.runIf(needed).each(['lora', 'full'] as const)(
  'on the native backend another process replays a version (%s) bit for bit',
  { timeout: 300_000 },
  async (training) => {
    folder = await openTrainerFolder(undefined, 'native');
    const trainer = folder.start(['--training', training]);
    for (const n of [1, 2, 3]) {
      // lengths differ, so that the two processes first build their graphs for different sizes
      await folder.submit(n, { length: 30 * n, settings: { training, learningRate: 1e-3 } });
      expect(await folder.settled(n)).toMatchObject({ head: n });
    }
    expect(await trainer.end('SIGTERM')).toBe(0);
    const digests = folder
      .events()
      .flatMap((event) => (event.type === 'policy.trained' ? [event.data.digest] : []));
    expect(new Set(digests).size).toBe(3);

    const replayed = await folder.replay();
    expect(replayed.text).toMatch(/^runtime: step \d+; native: TensorFlow/m);
    expect(replayed.text).toMatch(/3 replayed: 3 same, 0 different, 0 not covered/);
    expect(replayed.code).toBe(0);
  },
);
