import { expect, test } from 'vitest';
import { movePorts } from './move-ports.ts';
import { routeFlags } from './route-flags.ts';

const portsOf = (flags: readonly string[], port: number, consolePort = 8704) => {
  const routed = routeFlags(flags);
  movePorts(routed, port, consolePort);
  const { collector, judge, trainer, console: page } = routed.byService;
  return [collector, judge, trainer, page];
};

test('the other ports move along with that of serving', () => {
  expect(portsOf(['--port', '9700'], 9700)).toEqual([
    ['--health-port', '9701'],
    ['--health-port', '9702'],
    ['--health-port', '9703'],
    ['--port', '9704'],
  ]);
});

test('ports of their own stay, as do all beside the default, any free port, and the last ports', () => {
  const flags = ['--judge-health-port', '0', '--collector-health-port=9000'];
  expect(portsOf(flags, 9700, 9999)).toEqual([
    ['--health-port', '9000'],
    ['--health-port', '0'],
    ['--health-port', '9703'],
    [],
  ]);
  for (const port of [8700, 0, 65_534]) expect(portsOf([], port), String(port)).toEqual([[], [], [], []]);
});
