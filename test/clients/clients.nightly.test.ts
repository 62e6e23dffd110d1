import { beforeAll, describe, expect, test } from 'vitest';
import { checkNames, checks } from './checks.ts';
import { clientsNamed } from './drivers/all.ts';
import { installClient } from './install.ts';
import { type Observed, observe } from './observe.ts';

// The real programs, as many as can be installed; CLAWLOOP_CLIENTS selects some of them.

describe.each(clientsNamed(process.env.CLAWLOOP_CLIENTS))('$title', (client) => {
  let seen: Observed | undefined;
  let missing = '';
  beforeAll(async () => {
    const launcher = await installClient(client.package, (line) => process.stderr.write(`${line}\n`)).catch(
      (error: Error) => {
        if (process.env.CLAWLOOP_REQUIRE_ALL === '1') throw error;
        missing = error.message;
        process.stderr.write(`${client.title} is skipped: ${missing}\n`);
      },
    );
    if (launcher !== undefined) seen = await observe(client, launcher);
  });

  test.for(checkNames)('%s', (name, { skip }) => {
    skip(seen === undefined, missing);
    expect(checks[name](seen!)).toEqual([]);
  });
});
