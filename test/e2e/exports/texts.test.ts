import { expect, test } from 'vitest';
import { exportTrajectories } from '../../../clients/export/atif.ts';
import { exportHfRows } from '../../../clients/export/hf-rows.ts';
import { parquetOf } from '../../../clients/export/parquet.ts';
import { assistant, user } from '../../../services/collector/testing/events.ts';
import { agentSession, node, rewrittenSession, session } from './agent-session.ts';

const brief = (nodes: typeof agentSession) =>
  exportTrajectories(session, nodes).lines.map(({ trajectory_id, steps, extra }) => [
    trajectory_id,
    extra.return,
    ...steps.map(
      ({ step_id, source, message, is_copied_context, observation }) =>
        `${step_id} ${source}${is_copied_context ? ' (copied)' : ''}: ${message}${(observation?.results ?? [])
          .map(({ source_call_id, content }) => ` <${source_call_id}: ${content}>`)
          .join('')}`,
    ),
  ]);

test('a trajectory per path: messages, calls and results', () => {
  const common = [
    '1 system: You book flights.',
    '2 user: Oslo, please.',
    '3 agent:  <c1: 2 flights> <c2: no such place>',
    '4 agent: Booked.',
    '5 user: And back?',
  ];
  expect(brief(agentSession)).toEqual([
    ['c', 0.5, ...common, '6 agent: Back on Monday.'],
    ['d', 0.5, ...common, '6 agent: No.'],
  ]);
});

test('an answer keeps its tokens, reward and calls; arguments that are not JSON stay text', () => {
  const [first] = exportTrajectories(session, agentSession).lines;
  expect(first!.steps[2]).toMatchObject({
    source: 'agent',
    model_name: 'default@v3',
    reasoning_content: 'I need the list.',
    tool_calls: [
      { tool_call_id: 'c1', function_name: 'search', arguments: { to: 'Oslo' } },
      { tool_call_id: 'c2', function_name: 'search', arguments: {}, extra: { arguments_text: 'Bergen' } },
    ],
  });
  const booked = first!.steps[3]!;
  expect(booked.extra).toMatchObject({ interaction_id: 'b', reward: 0.25, return: 0.5, advantage: 0.1 });
  expect(booked.metrics).toMatchObject({ prompt_tokens: 2, completion_tokens: 2 });
  expect(first!.final_metrics).toMatchObject({ total_completion_tokens: 6, total_steps: 6 });
});

test('a history that the client rewrote appears again, marked as copied', () => {
  expect(brief(rewrittenSession)).toEqual([
    [
      'b',
      1,
      '1 system: You book flights.',
      '2 user: One',
      '3 agent: old',
      '4 user: Two',
      '5 agent: first',
      '6 user (copied): Summary: one, two.',
      '7 user (copied): Three',
      '8 agent: second',
    ],
  ]);
});

test('a path continues after an answer that was cut off', () => {
  const hi = user('hi');
  const cut = { ...node('b', [hi, assistant('hello'), user('more')], 'mo', { parent: 'a' }) };
  const nodes = [
    node('a', [hi], 'hello'),
    { ...cut, data: { ...cut.data, finishReason: 'aborted' as const } },
    node('c', [hi, assistant('hello'), user('more'), assistant('mo'), user('go on')], 'more', {
      parent: 'b',
    }),
  ];
  expect(brief(nodes)).toEqual([
    [
      'c',
      null,
      '1 user: hi',
      '2 agent: hello',
      '3 user: more',
      '4 agent: mo',
      '5 user: go on',
      '6 agent: more',
    ],
  ]);
});

test.each([
  ['deleted', { reason: 'deleted' }, 2, 0], // its next request repeats it
  ['withdrawn', { reason: 'withdrawn' }, 2, 0],
  ['secret', { holdsSecret: true }, 0, 1],
])('text that is %s is in no export', (_, given, leftOut, withSecrets) => {
  const nodes = [
    node('a', [user('hi')], 'hello', given),
    node('b', [user('hi'), { role: 'assistant', content: 'hello' }, user('bye')], 'bye', { parent: 'a' }),
  ];
  for (const made of [exportTrajectories(session, nodes), exportHfRows(session, nodes)]) {
    expect([made.leftOut, made.withSecrets]).toEqual([leftOut, withSecrets]);
    expect(made.lines).toHaveLength(2 - leftOut - withSecrets);
  }
});

test('a row per answer, as prompt and completion, with the label of its return', () => {
  const { lines } = exportHfRows(session, agentSession);
  expect(
    lines.map(({ id, turn, label, prompt, completion }) => [
      id,
      turn,
      label,
      prompt.length,
      completion.length,
    ]),
  ).toEqual([
    ['a', 'main', true, 2, 1],
    ['b', 'main', true, 5, 1],
    ['c', 'main', true, 7, 1],
    ['d', 'main', false, 7, 1],
    ['t', 'side', null, 1, 1],
  ]);
  const columns = new Set(lines.map((line) => Object.keys(line).join()));
  expect(columns.size).toBe(1);
  expect(lines[0]!.completion[0]!.tool_calls).toEqual([
    { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"to":"Oslo"}' } },
    { id: 'c2', type: 'function', function: { name: 'search', arguments: 'Bergen' } },
  ]);
});

test('a Parquet file has its columns even without rows', () => {
  for (const rows of [[], exportHfRows(session, agentSession).lines]) {
    const file = Buffer.from(parquetOf(rows));
    expect([file.subarray(0, 4).toString(), file.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1']);
    expect(file.includes('completion_ids')).toBe(true);
  }
});
