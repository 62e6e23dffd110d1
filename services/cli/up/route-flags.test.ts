import { expect, test } from 'vitest';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { routeFlags } from './route-flags.ts';

test('a prefix names the service; without a prefix, all services get the flag', () => {
  const { shared, byService } = routeFlags([
    '--data-folder',
    '/d',
    '--judge-votes=5',
    '--port',
    '9000',
    '--collector-paused',
  ]);
  expect(shared).toEqual(['--data-folder', '/d']);
  expect(byService.judge).toEqual(['--votes', '5']);
  expect(byService.serving).toEqual(['--port', '9000']);
  expect(byService.collector).toEqual(['--paused']);
});

test('--judge-model is not the model that all services share', () => {
  const { shared, byService } = routeFlags([
    '--model',
    'a/b',
    '--judge-model',
    'c/d',
    '--judge-model-max-tokens=9',
  ]);
  expect(shared).toEqual(['--model', 'a/b']);
  expect(byService.judge).toEqual(['--judge-model', 'c/d', '--model-max-tokens', '9']);
});

test('queue flags go to the services with a queue', () => {
  const { shared, byService } = routeFlags([
    '--queue',
    'redis',
    '--redis-url=redis://r:6379',
    '--log',
    'kafka',
  ]);
  const queue = ['--queue', 'redis', '--redis-url', 'redis://r:6379'];
  expect(shared).toEqual(['--log', 'kafka']);
  expect(byService).toEqual({
    serving: queue,
    collector: [],
    judge: queue,
    trainer: queue,
    console: ['--queue', 'redis'],
  });
});

test('a word without a flag is refused', () => {
  expect(() => routeFlags(['now'])).toThrow(UsageError);
  expect(() => routeFlags(['./model'])).toThrow('npm start -- --port');
});

test('a flag of a single service without its prefix is refused, with the right spelling', () => {
  expect(() => routeFlags(['--method', 'opd'])).toThrow(
    "Unknown option '--method'. Flags of a single service",
  );
});

test('the folder of the session export is not passed to a service', () => {
  const { shared, byService, sessionsExport } = routeFlags(['--sessions-export', 'out', '--data-folder=/d']);
  expect([shared, byService.serving, sessionsExport]).toEqual([['--data-folder', '/d'], [], 'out']);
  expect(() => routeFlags(['--sessions-export'])).toThrow('takes a folder');
});

test('flags of the supervisor go to no service', () => {
  const { shared, byService, up } = routeFlags(['--service-log-mib', '8', '--service-log-files=5']);
  expect(up).toEqual(['--service-log-mib', '8', '--service-log-files', '5']);
  expect([shared, Object.values(byService).flat()]).toEqual([[], []]);
});
