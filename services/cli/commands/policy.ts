import { exportFigures } from '../../../clients/export/figures/export-figures.ts';
import { withLog } from '../../../clients/with-log.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import { rollbackFact } from '../../../shared/lineage/operator-facts.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openCheckpoints } from '../../../shared/runtime/open-checkpoints.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { createPolicyView, type VersionView } from '../../../shared/views/policy-view.ts';
import { adaptersOf, oneAdapter } from '../adapters.ts';
import type { Command } from '../command.ts';
import { ANY_WORDS, readOptions, splitAction, wholeNumber } from '../options.ts';
import { readPolicies } from '../policies.ts';
import { retrain } from '../retrain/retrain.ts';

export const policy: Command = {
  name: 'policy',
  usage: 'list | show VERSION | rollback VERSION | retrain [VERSION] | export',
  about:
    'list versions, show one, roll back, train again without erased words, or export the figures of all steps',
  details: [
    ['list', 'show every version with its parent and outcome, and every rollback with its numbers'],
    ['show VERSION', 'show its batch, digest and metrics'],
    [
      'rollback VERSION',
      'make it the head again, also when the checkpoint of the head is lost; a running step cannot undo this',
    ],
    [
      'retrain [VERSION]',
      'go back to VERSION and train the batches after it again, without samples that were erased, withdrawn or deleted',
    ],
    ['', 'default: the newest version that learned from none of them; with --from, the head'],
    ['  --from VERSION', 'train again what led to this version; default: the head'],
    ['  --dry-run', 'show what would be trained again'],
    ['  --yes', 'do not ask'],
    ['--reason TEXT', 'recorded in the event'],
    ['export --style S --into FOLDER', 'write the figures of all steps, one run per adapter'],
    ['', 'tensorboard: event files; wandb: offline runs, for wandb sync'],
    ['  --follow', 'keep adding steps as they end'],
    [
      '--adapters A,B',
      'only these adapters; with several, `show`, `rollback` and `retrain` need exactly one',
    ],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'list');
    if (action === 'export') {
      const strings = { style: { type: 'string' }, into: { type: 'string' } } as const;
      const { values, settings } = readOptions(rest, { ...strings, follow: { type: 'boolean' } });
      return exportFigures(settings, values);
    }
    if (action === 'retrain') return retrainOf(rest);
    if (!['list', 'show', 'rollback'].includes(action))
      throw new UsageError(`unknown action '${action}'; one of: list, show, rollback, retrain, export`);
    const { values, words, settings } = readOptions(
      rest,
      { reason: { type: 'string' } },
      action === 'list' ? 0 : 1,
    );
    return withLog(settings, async (log) => {
      const read = async (adapter: string) =>
        (await readPolicies(log, settings)).get(adapter)?.view ?? createPolicyView(adapter);
      if (action === 'list') return listAll(read, await adaptersOf(log, settings));
      const version = wholeNumber(words[0] ?? '', 'VERSION');
      const adapter = await oneAdapter(log, settings);
      if (action === 'show') return show(await read(adapter), version);
      return rollback(log, () => read(adapter), { adapter, to: version, reason: values.reason });
    });
  },
};

async function retrainOf(argv: readonly string[]): Promise<number> {
  const { values, words, settings } = readOptions(
    argv,
    {
      from: { type: 'string' },
      reason: { type: 'string' },
      'dry-run': { type: 'boolean' },
      yes: { type: 'boolean' },
    },
    ANY_WORDS,
  );
  const [word, ...more] = words;
  if (more.length > 0) throw new UsageError('give one version: policy retrain [VERSION]');
  const wish = {
    to: word === undefined ? undefined : wholeNumber(word, 'VERSION'),
    from: values.from === undefined ? undefined : wholeNumber(values.from, '--from'),
    reason: values.reason,
    isDry: values['dry-run'] ?? false,
    isSure: values.yes ?? false,
  };
  const checkpoints = openCheckpoints(settings, dataFolder(settings.dataFolder));
  try {
    return await withLog(settings, async (log) => {
      const adapter = await oneAdapter(log, settings);
      return retrain({ log, store: checkpoints.storeOf(adapter) }, { adapter, ...wish });
    });
  } finally {
    await checkpoints.close();
  }
}

type PolicyView = ReturnType<typeof createPolicyView>;

async function listAll(
  read: (adapter: string) => Promise<PolicyView>,
  adapters: readonly string[],
): Promise<number> {
  for (const [index, adapter] of adapters.entries()) {
    if (adapters.length > 1) console.log(`${index === 0 ? '' : '\n'}${adapter}`);
    list(await read(adapter));
  }
  return 0;
}

function list({ versions, head, rollbacks }: PolicyView): void {
  const state = head();
  const served = new Set(lineage(viewOf(state), state.head));
  const mark = (version: number) =>
    version === state.head ? 'head' : served.has(version) ? 'in lineage' : '';
  const rows = [
    ['v0', '', '', 'base', mark(0), '', '0', ''],
    ...[...versions.values()].map(({ version, parent, samples, again, state: outcome, metrics, time }) => [
      `v${version}`,
      `v${parent}`,
      again === undefined ? samples : `${samples} of v${again.split('/').at(-1)}`,
      outcome,
      mark(version),
      metrics.verdict?.toFixed(2) ?? '',
      metrics.klToBase?.toFixed(3) ?? '',
      time.slice(0, 19),
    ]),
  ];
  const columns = [
    'version',
    'parent',
    'samples',
    'outcome',
    '',
    'mean verdict',
    'KL to base',
    'batch formed',
  ];
  console.log(formatTable(columns, rows));
  for (const rollback of rollbacks()) console.log(rollbackLine(rollback));
}

type Rollback = ReturnType<PolicyView['rollbacks']>[number];

function rollbackLine({ time, from, to, cause, reason, figures, hadEffect, pause }: Rollback): string {
  const by = cause === 'automatic' ? 'by the verdicts' : 'by an operator';
  const why = reason === '' ? '' : `: ${reason}`;
  const evidence =
    figures === undefined ? '' : ` (evidence ${figures.evidence}, needed ${Math.round(1 / figures.alpha)})`;
  const effect = hadEffect ? '' : '; without effect, the head had moved';
  const paused = pause === undefined ? '' : `\n  learning paused: ${pause}`;
  return `${time.slice(0, 19)}  v${from} rolled back to v${to} ${by}${why}${evidence}${effect}${paused}`;
}

function show({ versions, head }: PolicyView, version: number): number {
  const view = versions.get(version);
  if (view === undefined) throw new UsageError(`no batch made v${version}; see clawloop policy list`);
  const { milliseconds, fingerprint } = view;
  const lines: readonly (readonly [string, string])[] = [
    ['version', `v${view.version}${head().head === view.version ? ' (head)' : ''}`],
    ['outcome', view.detail === '' ? view.state : `${view.state}: ${view.detail}`],
    ['parent', `v${view.parent}`],
    [
      'batch',
      `${view.batchId}, ${view.samples} samples${view.again === undefined ? '' : ` of ${view.again}, again`}, ${view.time}`,
    ],
    ['checkpoint', view.checkpoint || 'none'],
    ['digest', view.digest || 'none'],
    ['duration', milliseconds === 0 ? 'not run' : `${(milliseconds / 1000).toFixed(1)} s`],
    ['runtime', fingerprint || 'none'],
    ...metricLines(view),
  ];
  for (const [name, value] of lines) console.log(`${name.padEnd(24)} ${value}`);
  return 0;
}

const metricLines = ({ metrics }: VersionView): readonly (readonly [string, string])[] =>
  Object.entries(metrics).map(([name, value]) => [name, String(Number(value.toPrecision(6)))]);

type Wanted = { readonly adapter: string; readonly to: number; readonly reason: string | undefined };

/** Reads the head again after the append, because a running step may have moved it meanwhile. */
async function rollback(
  log: EventLog,
  read: () => Promise<PolicyView>,
  { adapter, to, reason }: Wanted,
): Promise<number> {
  const before = (await read()).head();
  if (before.versions[to] === undefined)
    throw new UsageError(`v${to} was never served; see clawloop policy list`);
  if (before.head === to) {
    console.log(`v${to} is already the head`);
    return 0;
  }
  await log.append([rollbackFact({ adapter, from: before.head, to, reason }, 'clawloop/cli')]);
  const after = (await read()).head();
  if (after.head !== to) {
    console.log(`rollback not applied: meanwhile the head moved to v${after.head}`);
    return 1;
  }
  console.log(
    `the head is v${to} again; v${before.head} is no longer served, and a step that started from it is discarded`,
  );
  return 0;
}
