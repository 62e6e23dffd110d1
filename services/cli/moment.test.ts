import { expect, test } from 'vitest';
import { momentOf } from './moment.ts';

const now = Date.UTC(2026, 0, 2);

test.each([
  ['90s', '2026-01-01T23:58:30.000Z'],
  ['10m', '2026-01-01T23:50:00.000Z'],
  ['2h', '2026-01-01T22:00:00.000Z'],
  ['1d', '2026-01-01T00:00:00.000Z'],
  ['2026-01-01', '2026-01-01T00:00:00.000Z'],
  ['2026-01-01T12:00:00+02:00', '2026-01-01T10:00:00.000Z'],
])('%s is %s', (text, moment) => {
  expect(new Date(momentOf(text, '--since', now)).toISOString()).toBe(moment);
});

test.each(['10', 'm', '-5m', '1w', 'yesterday', '2026-13-01'])('%s is refused', (text) => {
  expect(() => momentOf(text, '--since', now)).toThrow('--since');
});
