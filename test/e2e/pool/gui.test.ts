import { afterEach, expect, test } from 'vitest';
import type { UsageError } from '../../../shared/runtime/command-errors.ts';
import { attempts, calls } from './attempts.ts';
import { type GuiPool, guiPool } from './stand-ins/gui.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options?: Parameters<typeof guiPool>[0]): Promise<GuiPool> {
  const pool = await guiPool(options);
  closing.push(pool.kill);
  return pool;
}

const run = (pool: GuiPool, given: Parameters<typeof attempts>[1]) =>
  attempts({ url: pool.url, kind: 'gui' }, given);

const stepsOf = (pool: GuiPool) =>
  pool.calls.filter(({ path }) => path === '/step').map(({ body }) => body.action);

test('a model acts on a desktop that is shown as text, and the pool scores it', async () => {
  const pool = await open();
  const seen: string[] = [];
  const { kinds, settled } = await run(pool, {
    agent: async (input) => {
      seen.push(input.environment!.messages[0]!.content);
      return calls(['click', { x: 100, y: 200 }], ['done', {}])(input);
    },
  });
  expect(kinds).toEqual([1]);
  expect(seen[0]).toMatch(/^Save it\.\n\n<desktop-frame>.*name="Save"/);
  expect(seen[0]).not.toContain('iVBORw0KGgo');
  expect(settled[0]!.outcome).toMatchObject({
    result: [expect.stringContaining('pressed="1"'), expect.anything()],
  });
  expect(pool.paths()).toEqual(['/allocate', '/reset', '/step', '/step', '/evaluate', '/close']);
  expect(stepsOf(pool)).toEqual(['pyautogui.click(100, 200, clicks=1, interval=0.1, button="left")', 'DONE']);
  expect(pool.open()).toBe(0);
});

test('the desktop receives only the actions of the policy, and never an invented FAIL', async () => {
  const pool = await open();
  const gives = calls(['wait', {}]);
  const { kinds } = await run(pool, { data: [infeasible], agent: gives });
  expect([kinds, stepsOf(pool)]).toEqual([[0], ['WAIT']]);
  const says = await run(pool, { data: [infeasible], agent: calls(['fail', {}]) });
  expect([says.kinds, stepsOf(pool)]).toEqual([[1], ['WAIT', 'FAIL']]);
});

const infeasible = { id: 'x', instruction: 'Fly.', evaluator: { func: 'infeasible' } };

test('wrong arguments are observations, and text cannot leave its quotes', async () => {
  const pool = await open();
  const { settled } = await run(pool, {
    agent: calls(
      ['click', { x: -1, y: 2 }],
      ['click', { x: 1, y: 2, button: '"); import os; (' }],
      ['type', { text: 'é' }],
      ['type', { text: '"\\\n);' }],
      ['press', { keys: ['ctrl', '"'] }],
      ['toString', {}],
    ),
  });
  const [negative, button, accent, , , unknown] = (settled[0]!.outcome as { readonly result: string[] })
    .result;
  expect(negative).toMatch(/x/);
  expect(button).toMatch(/button/);
  expect(accent).toMatch(/only ASCII/);
  expect(unknown).toMatch(/no action 'toString'/);
  expect(stepsOf(pool)).toEqual([
    String.raw`pyautogui.write("\"\\\n);", interval=0.02)`,
    String.raw`pyautogui.hotkey("ctrl", "\"")`,
  ]);
});

test('a server with screenshots only is refused with advice, and its desktop is given back', async () => {
  const pool = await open({ hasTree: false });
  const refused: UsageError[] = [];
  const stop = new AbortController();
  const { kinds } = await run(pool, {
    agent: calls(),
    n: 3,
    stop: stop.signal,
    onRefused: (error) => {
      refused.push(error);
      stop.abort();
    },
  });
  expect(kinds).toEqual(['interrupted', 'interrupted', 'interrupted']);
  expect(refused[0]!.message).toMatch(/screenshots only.*--observation-type a11y_tree/);
  expect(pool.open()).toBe(0);
});

test('an action whose answer is lost is not sent again', async () => {
  const pool = await open();
  pool.faults(({ path }) => (path === '/step' ? { kind: 'drop-answer' } : undefined));
  const { kinds } = await run(pool, { agent: calls(['click', { x: 100, y: 200 }]) });
  expect([kinds, pool.count('/step'), pool.open()]).toEqual([['environment-lost'], 1, 0]);
});
