import { expect, test } from 'vitest';
import { audit, event, type Facts } from './testing/facts.ts';

const lease = { session: 's', key: 'mine' };
const at = (minutes: number) => `2026-01-01T00:0${minutes}:00Z`;
const leased = event('environment.leased', 's/environment/leased', { ...lease, expiresAt: at(2) });
const acted = (call: string) =>
  event('environment.acted', `s/environment/acted/${call}`, { ...lease, call, name: 'bash' });
const evaluated = event('environment.evaluated', 's/environment/evaluated', { ...lease, reward: 1 });
const released = (by: 'client' | 'expiry') =>
  event('environment.released', 's/environment/released', { ...lease, by });
const rewarded = event('feedback.given', 's/reward/1', { interactionId: 'a', key: 'mine', score: 1 });
const ended = (discard?: boolean) =>
  event('session.ended', 's/ended', { ...lease, reason: 'explicit', discard });

const brokenBy = (...facts: readonly Facts[]) =>
  audit(...facts).broken.filter((sentence) => sentence.includes('environment'));

test('an attempt that its environment rated, and that released it, balances', () => {
  const report = audit(leased, acted('0'), acted('0'), evaluated, rewarded, released('client'), ended());
  expect(report.broken.filter((sentence) => sentence.includes('environment'))).toEqual([]);
  expect(report.counts).toMatchObject({ 'environments leased': 1, 'environments that rated an attempt': 1 });
  expect(report.open).not.toHaveProperty('environments in use');
});

test('a lease without a release is open, and owed from its expiry on', () => {
  const renewed = event('environment.renewed', 's/environment/renewed/1', {
    ...lease,
    renewal: 1,
    expiresAt: at(4),
  });
  const report = audit(leased, renewed);
  expect(report.open).toMatchObject({ 'environments in use': 1 });
  expect(report.owed).toContainEqual({
    what: 'the environment of session s is not free',
    since: Date.parse(at(4)),
  });
});

test('a discarded attempt needs no rating', () => {
  expect(brokenBy(leased, acted('0'), rewarded, released('expiry'), ended(true))).toEqual([]);
});

test.each<[string, readonly Facts[], RegExp]>([
  ['a reward without a rating', [leased, rewarded, released('client'), ended()], /did not rate it/],
  ['an action after the release', [leased, released('client'), acted('0')], /later than the release/],
  ['a fact without a lease', [acted('0')], /without a lease/],
])('%s is a violation', (_, facts, sentence) => {
  expect(brokenBy(...facts).join('\n')).toMatch(sentence);
});
