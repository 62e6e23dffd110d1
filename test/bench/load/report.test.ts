import { expect, test } from 'vitest';
import { cases } from './case.ts';
import { cellsOf, figuresOf, loadTable, type Round } from './report.ts';

const round = (
  answers: number,
  latencies: readonly number[],
  firstTokens: readonly number[] = [],
): Round => ({
  answers,
  seconds: 2,
  latencies,
  firstTokens,
  processorMs: answers,
});
const asked = { ...cases[0]!, stream: true };
const measured = {
  asked,
  peer: [round(200, [1, 1, 2], [0.1]), round(100, [1, 1, 9], [0.3]), round(400, [1, 1, 1], [0.2])],
  serving: [round(100, [2, 2, 4], [1]), round(80, [2, 2, 9], [3]), round(100, [2, 2, 2], [2])],
};

test('a ratio compares servers in the same round; latencies are of all rounds', () => {
  expect(figuresOf(measured)).toEqual({
    peerRate: 100,
    servingRate: 50,
    ratio: 0.5,
    peerMs: 1,
    addedP50: 1,
    addedP99: 2,
    processorMs: { peer: 1, serving: 1 },
    firstToken: { peer: [0.2, 0.2], serving: [2, 2] },
  });
});

test('a row has one cell for each column, and the table names machine and date', () => {
  const table = loadTable([measured], {
    machine: 'here',
    load: [0.5, 1],
    minutes: 3.6,
    recorded: { facts: 280, answers: 280 },
  });
  const [head, , row] = table.split('\n').filter((line) => line.startsWith('|'));
  expect(row!.split('|')).toHaveLength(head!.split('|').length);
  expect(cellsOf(measured).slice(0, 3)).toEqual(['300 bytes', 'streamed', '1']);
  expect(table).toContain('280 answers were given, and the log holds 280 facts');
});
