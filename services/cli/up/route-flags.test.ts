import { expect, test } from 'vitest';
import { UsageError } from '../command.ts';
import { routeFlags } from './route-flags.ts';

test('a prefix names the service, no prefix means all of them', () => {
  const { shared, own } = routeFlags([
    '--data-folder',
    '/d',
    '--judge-votes=5',
    '--port',
    '9000',
    '--collector-paused',
  ]);
  expect(shared).toEqual(['--data-folder', '/d']);
  expect(own.judge).toEqual(['--votes', '5']);
  expect(own.serving).toEqual(['--port', '9000']);
  expect(own.collector).toEqual(['--paused']);
});

test('the model of the judge is not the model that all services share', () => {
  const { shared, own } = routeFlags([
    '--model',
    'a/b',
    '--judge-model',
    'c/d',
    '--judge-model-max-tokens=9',
  ]);
  expect(shared).toEqual(['--model', 'a/b']);
  expect(own.judge).toEqual(['--judge-model', 'c/d', '--model-max-tokens', '9']);
});

test('flags of a queue go to the services that have one', () => {
  const { shared, own } = routeFlags(['--queue', 'redis', '--redis-url=redis://r:6379', '--log', 'kafka']);
  const queue = ['--queue', 'redis', '--redis-url', 'redis://r:6379'];
  expect(shared).toEqual(['--log', 'kafka']);
  expect(own).toEqual({ serving: [], collector: [], judge: queue, trainer: queue });
});

test('a word that belongs to no flag is refused', () => {
  expect(() => routeFlags(['now'])).toThrow(UsageError);
  expect(() => routeFlags(['./model'])).toThrow('npm start -- --port');
});

test('a flag that one service alone has is refused, with how it is spelled here', () => {
  expect(() => routeFlags(['--method', 'opd'])).toThrow("Unknown option '--method'. Flags of one service");
});

test('where ended sessions are exported to is no flag of a service', () => {
  const { shared, own, sessionsExport } = routeFlags(['--sessions-export', 'out', '--data-folder=/d']);
  expect([shared, own.serving, sessionsExport]).toEqual([['--data-folder', '/d'], [], 'out']);
  expect(() => routeFlags(['--sessions-export'])).toThrow('takes a folder');
});
