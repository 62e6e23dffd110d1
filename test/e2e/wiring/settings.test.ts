import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceNames, startService, untilReady } from './service-process.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-settings-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('each service starts alone from variables; a flag outranks them, and the log names the source of each setting', async () => {
  const env = {
    CLAWLOOP_DATA_FOLDER: join(folder, 'data'),
    CLAWLOOP_SESSION_TIMEOUT_MS: '7000',
    CLAWLOOP_ADAPTERS: 'of-the-environment',
    CLAWLOOP_SERVING_API_KEY: 'a-key-that-nobody-is-shown',
    CLAWLOOP_JUDGE_OPENAI_API_KEY: 'a-key-that-nobody-is-shown',
  };
  await Promise.all(
    serviceNames.map(async (name) => {
      const service = startService(name, ['--adapters', 'of-the-flag,another'], { env });
      await untilReady(service);
      const { code, output } = await service.stop();
      expect(code, output).toBe(0);
      const [line] = output.split('\n');
      const { config } = JSON.parse(line!) as { readonly config: Readonly<Record<string, string>> };
      expect(config).toMatchObject({
        dataFolder: `"${env.CLAWLOOP_DATA_FOLDER}" (env)`,
        sessionTimeoutMs: '7000 (env)',
        adapters: '["of-the-flag","another"] (flag)',
        log: '"sqlite" (default)',
      });
      expect(output).not.toContain('nobody-is-shown');
    }),
  );
});
