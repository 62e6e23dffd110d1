import { expect, test } from 'vitest';
import type { EnvironmentDriver } from '../environments/environment.ts';
import type { LeaseClient } from '../lease-client.ts';
import type { Agent } from './contract.ts';
import { createProtocolDouble } from './testing/protocol-server.ts';
import { kindsOf, roll } from './testing/roll.ts';

const signal = new AbortController().signal;

const driver: EnvironmentDriver = {
  tasks: async () => [],
  open: async () => ({
    messages: [],
    tools: [],
    takesText: true,
    act: async () => ({ content: 'seen', isError: false, isDone: false, stateKey: 'k' }),
    shell: async () => ({ code: 1, output: 'no such file' }),
    evaluate: async () => ({ reward: 0.5, detail: {} }),
    close: async () => {},
  }),
};
const acts: Agent = async ({ environment }) => {
  await environment!.act({ id: '0', name: 'say', arguments: { text: 'hi' } }, signal);
  await environment!.shell!('ls nowhere', signal);
  return 'done';
};
const given = { tasks: 1, n: 1, environments: driver, reward: undefined, agent: acts };

test('the events of an environment are reported in order, with digests in place of words', async () => {
  const double = createProtocolDouble();
  await roll({ ...given, double });
  expect(double.facts.map(({ what }) => what)).toEqual([
    'leased',
    'ready',
    'acted',
    'acted',
    'evaluated',
    'released',
  ]);
  expect(double.facts[0]).toMatchObject({ environment: 'memory', task: 't0', attempt: 0, ttl_seconds: 60 });
  expect(double.facts[2]).toMatchObject({ call: '0', name: 'say', bytes: 4, isError: false, stateKey: 'k' });
  expect(double.facts[3]).toMatchObject({ call: 'shell/0', name: 'shell', isError: true });
  expect(JSON.stringify(double.facts)).not.toMatch(/nowhere|no such file|"hi"/);
});

test('an attempt whose lease ended is lost, is not scored, and is retried with a new lease', async () => {
  const double = createProtocolDouble();
  let refused = false;
  const say: LeaseClient['say'] = async (session, fact) => {
    if (fact.what === 'evaluated' && !refused) {
      refused = true;
      const message = 'The lease has ended.';
      return { kind: 'refused', status: 409, code: 'lease_ended', message, retryAfter: undefined };
    }
    return double.leases.say(session, fact);
  };
  const leasing = { client: { say }, environment: 'memory', ttlMs: 60_000 };
  const { settled } = await roll({ ...given, double, leasing, retries: 1 });
  expect(kindsOf(settled)).toEqual([0.5]);
  expect(settled[0]!.outcome.earlier).toEqual(['environment-lost']);
  const leases = double.facts.filter(({ what }) => what === 'leased').map(({ session }) => session);
  expect(new Set(leases).size).toBe(2);
  expect(double.facts.filter(({ what }) => what === 'released')).toHaveLength(2);
});

test('the rating that the log has already is the one that counts', async () => {
  const double = createProtocolDouble();
  const say: LeaseClient['say'] = async (session, fact) =>
    fact.what === 'evaluated' ? { kind: 'answer', value: -1 } : double.leases.say(session, fact);
  const leasing = { client: { say }, environment: 'memory', ttlMs: 60_000 };
  expect(kindsOf((await roll({ ...given, double, leasing })).settled)).toEqual([-1]);
});
