import { expect, test } from 'vitest';
import { httpWorld } from './http-world.ts';
import { people } from './people.ts';
import { peopleTables } from './report.ts';
import { runPerson } from './run-person.ts';

const hooks = { signal: new AbortController().signal, onSession: () => {} };
const open = httpWorld([]);
const run = (name: string, learning: boolean) =>
  runPerson(
    open,
    people.find((one) => one.name === name)!,
    { seed: 1, sessions: 4, learning, answers: 8 },
    hooks,
  );

test('complaints, praise and ratings through HTTP are recognised, and the page reports them', async () => {
  const spoken = await run('phrases of the demo', true);
  expect(spoken.hearing.complaints + spoken.hearing.praise).toBeGreaterThanOrEqual(4);
  expect(spoken.hearing.badAsBad).toBe(spoken.hearing.complaints);
  expect(spoken.hearing.goodAsGood).toBe(spoken.hearing.praise);
  expect(spoken.versions).toBeGreaterThanOrEqual(1);
  expect(spoken.klToBase).toBeGreaterThan(0);

  const rated = await run('thumbs only', true);
  expect(rated.hearing.complaints + rated.hearing.praise).toBe(8);
  expect(rated.hearing.badAsGood).toBe(0);

  const lines = [spoken, rated].map((one) => ({ ...one, protocol: 'p', through: 'http' }) as const);
  expect(peopleTables(lines).split('\n')).toHaveLength(9);
});

test('the control changes nothing', async () => {
  const control = await run('phrases of the demo', false);
  expect(control).toMatchObject({ versions: 0, klToBase: null, end: control.start });
});
