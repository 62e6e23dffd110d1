import { randomUUID } from 'node:crypto';
import { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { utcNow } from '../../../shared/service/clock.ts';
import { adaptersOf, oneAdapter } from '../adapters.ts';
import { type Command, UsageError } from '../command.ts';
import { readOptions, splitAction, wholeNumber } from '../options.ts';
import { readTopic } from '../read-topic.ts';
import { formatTable } from '../table.ts';
import { createPolicyView, type VersionView } from '../views/policy-view.ts';
import { withLog } from '../with-log.ts';

export const policy: Command = {
  name: 'policy',
  usage: 'list | show VERSION | rollback VERSION',
  about: 'versions, what made them, and the way back',
  details: [
    ['list', 'every version, its parent and its outcome'],
    ['show VERSION', 'its batch, digest and figures'],
    [
      'rollback VERSION',
      'makes it the head again; gives up a head whose checkpoint is lost; a step in flight cannot undo it',
    ],
    ['--reason TEXT', 'stands in the fact'],
    ['--adapters A,B', 'of these alone; `show` and `rollback` take one where there are several'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (!['list', 'show', 'rollback'].includes(action))
      throw new UsageError(`policy ${action}? one of: list, show, rollback`);
    const { values, words, settings } = readOptions(rest, { reason: { type: 'string' } });
    return withLog(settings, async (log) => {
      if (action === 'list') return listAll(log, await adaptersOf(log, settings));
      const version = wholeNumber(words[0] ?? '', 'VERSION');
      const adapter = await oneAdapter(log, settings);
      return action === 'show' ? show(log, adapter, version) : rollback(log, adapter, version, values.reason);
    });
  },
};

async function readPolicy(log: EventLog, adapter: string) {
  const view = createPolicyView(adapter);
  await readTopic(log, 'training', ({ event }) => view.on(event));
  return { versions: view.versions, state: view.head() };
}

async function listAll(log: EventLog, adapters: readonly string[]): Promise<number> {
  for (const [index, adapter] of adapters.entries()) {
    if (adapters.length > 1) console.log(`${index === 0 ? '' : '\n'}${adapter}`);
    await list(log, adapter);
  }
  return 0;
}

async function list(log: EventLog, adapter: string): Promise<void> {
  const { versions, state } = await readPolicy(log, adapter);
  const served = new Set(lineage(viewOf(state), state.head));
  const mark = (version: number) =>
    version === state.head ? 'head' : served.has(version) ? 'in the lineage' : '';
  const rows = [
    ['v0', '', '', 'base', mark(0), '', '0', ''],
    ...[...versions.values()].map((one) => [
      `v${one.version}`,
      `v${one.parent}`,
      one.samples,
      one.state,
      mark(one.version),
      one.metrics.verdict?.toFixed(2) ?? '',
      one.metrics.klToBase?.toFixed(3) ?? '',
      one.time.slice(0, 19),
    ]),
  ];
  const columns = ['version', 'parent', 'samples', 'outcome', '', 'verdict', 'KL to base', 'batch formed'];
  console.log(formatTable(columns, rows));
}

async function show(log: EventLog, adapter: string, version: number): Promise<number> {
  const { versions, state } = await readPolicy(log, adapter);
  const one = versions.get(version);
  if (one === undefined) throw new UsageError(`no batch made v${version}; see clawloop policy list`);
  const lines: readonly (readonly [string, string])[] = [
    ['version', `v${one.version}${state.head === one.version ? ' (head)' : ''}`],
    ['outcome', one.detail === '' ? one.state : `${one.state}: ${one.detail}`],
    ['parent', `v${one.parent}`],
    ['batch', `${one.batchId}, ${one.samples} samples, ${one.time}`],
    ['checkpoint', one.checkpoint || 'none'],
    ['digest', one.digest || 'none'],
    [
      'step',
      one.milliseconds === 0 ? 'not done' : `${(one.milliseconds / 1000).toFixed(1)} s on ${one.fingerprint}`,
    ],
    ...metricLines(one),
  ];
  for (const [name, value] of lines) console.log(`${name.padEnd(24)} ${value}`);
  return 0;
}

const metricLines = ({ metrics }: VersionView): readonly (readonly [string, string])[] =>
  Object.entries(metrics).map(([name, value]) => [name, String(Number(value.toPrecision(6)))]);

/**
 * Says what the head is once the fact stands in the log, since a step in flight may have moved it meanwhile.
 */
async function rollback(
  log: EventLog,
  adapter: string,
  to: number,
  reason: string | undefined,
): Promise<number> {
  const before = (await readPolicy(log, adapter)).state;
  if (before.versions[to] === undefined)
    throw new UsageError(`v${to} was never served; see clawloop policy list`);
  if (before.head === to) {
    console.log(`v${to} is the head already`);
    return 0;
  }
  await log.append([
    PolicyRolledBack.create({
      id: randomUUID(),
      source: 'clawloop/cli',
      time: utcNow(),
      data: { adapter, from: before.head, to, ...(reason === undefined ? {} : { reason }) },
    }),
  ]);
  const after = (await readPolicy(log, adapter)).state;
  if (after.head !== to) {
    console.log(`not applied: the head moved meanwhile; it is v${after.head}`);
    return 1;
  }
  console.log(
    `the head is v${to}; v${before.head} is served no more. A step in flight from it will not be served.`,
  );
  return 0;
}
