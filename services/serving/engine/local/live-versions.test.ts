import { expect, test } from 'vitest';
import type { PolicyVersion } from '../../generation.ts';
import { createLiveVersions } from './live-versions.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import type { LoadedVersion } from './versions.ts';

/** Live versions whose warm-ups end on the test's command, with the names of the released versions. */
function liveVersions() {
  const released: string[] = [];
  const warmUp = Promise.withResolvers<void>();
  const load = ({ version }: PolicyVersion) => ({ name: `v${version}`, version }) as LoadedVersion;
  const live = createLiveVersions({
    versions: { retain: async (policy) => load(policy), release: ({ name }) => released.push(name) },
    warmers: {
      of: () => ({ warm: async (next) => (next.version > 1 ? warmUp.promise : undefined), stop: () => {} }),
    },
    recentPrompts: () => createRecentPrompts(1, 1),
    onWork: () => {},
  });
  const current = () => live.of({ target: { kind: 'live', adapter: 'default' } })?.version.version;
  return { live, released, current, endWarmUp: warmUp.resolve };
}

test('a version is live once it is warm, and the version before it is released', async () => {
  const { live, released, current, endWarmUp } = liveVersions();
  expect(current()).toBeUndefined();
  await live.serve('default', { version: 1 });
  const serving = live.serve('default', { version: 2 });
  expect(current()).toBe(1);
  endWarmUp();
  await serving;
  expect({ current: current(), released }).toEqual({ current: 2, released: ['v1'] });
});

test('an aborted move keeps the live version and releases the other', async () => {
  const { live, released, current, endWarmUp } = liveVersions();
  await live.serve('default', { version: 1 });
  const stop = new AbortController();
  const serving = live.serve('default', { version: 2 }, stop.signal);
  stop.abort();
  endWarmUp();
  await expect(serving).rejects.toMatchObject({ code: 'stopping' });
  expect({ current: current(), released }).toEqual({ current: 1, released: ['v2'] });
});

test('the live version answers the requests of a canary that has not begun, or has ended', async () => {
  const { live } = liveVersions();
  const target = { kind: 'live', adapter: 'default', canary: 'candidate' } as const;
  const chosen = () => live.of({ target })?.version.name;
  await live.serve('default', { version: 0 });
  expect(chosen()).toBe('v0');
  await live.serve('candidate', { version: 1 });
  expect(chosen()).toBe('v1');
  await live.serve('candidate', { version: 0 });
  await live.serve('default', { version: 1 });
  expect(chosen()).toBe('v1');
});
