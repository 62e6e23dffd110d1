import { freePort, until } from '../harness/clawloop.ts';
import type { LoopOnFolder } from '../harness/loop-on-folder.ts';

/** Starts the whole system with its console. Resolves to the console's address once that has read the log. */
export async function startWithConsole(on: LoopOnFolder, ...flags: readonly string[]): Promise<string> {
  const port = await freePort();
  await on.start('--console-port', String(port), ...flags);
  const url = `http://127.0.0.1:${port}`;
  await until('the console is ready', () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return url;
}
