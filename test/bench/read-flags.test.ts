import { expect, test } from 'vitest';
import { parseFlags } from './read-flags.ts';

const config = {
  options: {
    seeds: { type: 'string', default: '1' },
    results: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
} as const;
const usage = 'npm run something -- ...: it measures something';
const parse = (...argv: string[]) => parseFlags(argv, usage, config);
const help = `${usage}

  --seeds VALUE    default 1
  --results VALUE
  --quick`;

test('flags have their values or their defaults', () => {
  expect(parse('--seeds', '1,2', '--quick')).toMatchObject({
    kind: 'read',
    parsed: { values: { seeds: '1,2', quick: true } },
  });
  expect(parse()).toMatchObject({ kind: 'read', parsed: { values: { seeds: '1', quick: false } } });
});

test.each(['--help', '-h'])('%s gives the usage', (flag) => {
  expect(parse('--quick', flag)).toEqual({ kind: 'ends', code: 0, text: help });
});

test.each([
  [['--sead', '1'], /^Unknown option '--sead'/],
  [['--seeds'], /^Option '--seeds <value>' argument missing/],
  [['seven'], /^Unexpected argument 'seven'/],
])('%j: the reason comes before the usage', (argv, reason) => {
  const wrong = parse(...argv);
  expect(wrong).toMatchObject({ kind: 'ends', code: 2, text: expect.stringMatching(reason) });
  expect(wrong).toMatchObject({ text: expect.stringContaining(`\n\n${help}`) });
});
