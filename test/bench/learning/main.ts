// npm run bench:learning [-- --methods combine,none --tastes 'bare list' --seeds 1,2]: learning curves of every method,
// taste and seed. Finished cells are not repeated; Ctrl-C ends the run after the current session. --set
// learningRate=2e-2,klCoefficient=0.2 tries other settings: then also give --results and --docs.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BackendChoice } from '../../../shared/policy/executors/backend.ts';
import { readFlags } from '../read-flags.ts';
import { listOf as list, settingsOf } from '../set-flags.ts';
import { type CellKey, runCell, wholeLengths } from './cell.ts';
import { drawCurves } from './curves.ts';
import { evaluate } from './evaluate.ts';
import type { Method } from './loop.ts';
import { type LearningModel, openLearningModel } from './model.ts';
import { createProgress } from './progress.ts';
import { writeReport } from './report.ts';
import { addLine, type CellLine, cellName, type PriorLine, protocolOf, readLines } from './results.ts';
import { LARGEST_PRIOR, tastes } from './tastes.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const methods: readonly Method[] = ['combine', 'binary', 'opd', 'none'];
/** answers that measure the prior */
const PRIOR_ANSWERS = 512;

const { values } = readFlags(
  'npm run bench:learning -- ...: learning curves of every method, taste and seed',
  {
    options: {
      methods: { type: 'string', default: methods.join(',') },
      tastes: { type: 'string', default: tastes.map(({ name }) => name).join(',') },
      seeds: { type: 'string', default: '1,2,3,4,5' },
      backend: { type: 'string', default: 'auto' },
      results: { type: 'string', default: here('results.jsonl') },
      docs: { type: 'string', default: here('../../../docs/understand') },
      set: { type: 'string', default: '' },
      'report-only': { type: 'boolean', default: false },
    },
  },
);
const settings = settingsOf(values.set);
const protocol = protocolOf(wholeLengths, settings);
const lines = async () => (await readLines(values.results)).filter((line) => line.protocol === protocol);

const stop = new AbortController();
process.once('SIGINT', () => {
  console.log('\nending; finished cells are kept. Press Ctrl-C again to end at once.');
  stop.abort();
});

if (!values['report-only']) {
  const model = await openLearningModel(values.backend as BackendChoice);
  console.log(model.report);
  try {
    await measurePriors(model);
    await runCells(model);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.exitCode = 130;
  } finally {
    model.dispose();
  }
}
const done = await lines();
const cells = done.filter((line): line is CellLine => line.kind === 'cell');
const priors = done.filter((line): line is PriorLine => line.kind === 'prior');
if (cells.length > 0) {
  await writeFile(`${values.docs}/learning-curves.svg`, drawCurves(cells, wholeLengths.curve));
  await writeReport(`${values.docs}/benchmarks.md`, cells, priors);
  console.log(`${cells.length} cells: ${values.docs}/benchmarks.md`);
}

/** Refuses a taste that the base model meets too often by chance, because it would look like learning. */
async function measurePriors(model: LearningModel): Promise<void> {
  const known = (await lines()).flatMap((line) => (line.kind === 'prior' ? [line.taste] : []));
  const base = model.speaker(0, undefined);
  for (const taste of tastes.filter(({ name }) => !known.includes(name))) {
    const prior = evaluate(base, taste, 'prior', PRIOR_ANSWERS);
    await addLine(values.results, { protocol, kind: 'prior', taste: taste.name, prior });
  }
  base.dispose();
  for (const line of await lines())
    if (line.kind === 'prior' && line.prior.met > LARGEST_PRIOR)
      throw new Error(
        `${line.taste} is met by ${line.prior.met} of the base model's answers; ${LARGEST_PRIOR} is the most`,
      );
}

async function runCells(model: LearningModel): Promise<void> {
  const all: readonly CellKey[] = list(values.seeds).flatMap((seed) =>
    list(values.tastes).flatMap((taste) =>
      list(values.methods).map((method) => ({ method: method as Method, taste, seed: Number(seed) })),
    ),
  );
  const known = new Set((await lines()).flatMap((line) => (line.kind === 'cell' ? [cellName(line)] : [])));
  const open = all.filter((key) => !known.has(cellName(key)));
  const progress = createProgress(open.length, process.stdout);
  for (const key of open) {
    const taste = tastes.find(({ name }) => name === key.taste);
    if (taste === undefined || !methods.includes(key.method)) throw new Error(`there is no ${cellName(key)}`);
    const onSession = (session: number, of: number) => progress.at(cellName(key), session / of);
    const report = await runCell(model, taste, { ...key, settings }, wholeLengths, {
      signal: stop.signal,
      onSession,
    });
    await addLine(values.results, { protocol, kind: 'cell', ...report });
    progress.done(
      `${cellName(key)}: met after ${report.untilMet ?? 'no number of'} sessions, held-out ` +
        `${report.start.met} -> ${report.end.met}, on topic ${report.start.onTopic} -> ${report.end.onTopic}; ${report.seconds} s`,
    );
  }
}
