// npm run bench:routing, npm run bench:calls [-- --seeds 1,2 --rounds 5 --questions 40 --n 8 --results FILE]: claw-nano
// learns to use the tools of an MCP server, with learning and with learning paused. Finished cells are not repeated;
// Ctrl-C ends it. Writes results, a table and a plot into docs/use. With --results it appends to that file, prints the
// table, and changes no page unless --docs names a folder.
import { createHash } from 'node:crypto';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import { readFlags } from '../read-flags.ts';
import { calls } from './calls.ts';
import type { Experiment } from './experiment.ts';
import { drawLearning } from './plot.ts';
import { learningTable, writeLearningReport } from './report.ts';
import { routing } from './routing.ts';
import { runSeed, type SeedReport } from './run-seed.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { values, positionals } = readFlags(
  'npm run bench:routing -- ... or bench:calls -- ...: claw-nano learns to use tools',
  {
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '1,2,3,4,5' },
      rounds: { type: 'string', default: '5' },
      questions: { type: 'string', default: '40' },
      n: { type: 'string', default: '8' },
      results: { type: 'string' },
      docs: { type: 'string' },
      'report-only': { type: 'boolean', default: false },
    },
  },
);
const [name] = positionals;
if (name !== 'routing' && name !== 'calls') throw new Error('the experiment must be `routing` or `calls`');
const experiment: Experiment = name === 'routing' ? routing : calls;
const results = values.results ?? here(`${name}-results.jsonl`);
const [rounds, questions, n] = [Number(values.rounds), Number(values.questions), Number(values.n)];

const { model = CLAW_NANO } = parseArgs({
  args: [...experiment.flags],
  options: { model: { type: 'string' } },
  strict: false,
}).values;
const weights = createHash('sha256')
  .update(await readFile(`${modelFolder(String(model))}/model.safetensors`))
  .digest('hex')
  .slice(0, 12);
const protocol = JSON.stringify({ rounds, questions, n, flags: experiment.flags, weights });
type Line = SeedReport & { readonly protocol: string };
const done = async (): Promise<readonly Line[]> =>
  (await readFile(results, 'utf8').catch(() => ''))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.protocol === protocol);

const seeds = values.seeds.split(',').map(Number);
const cells = [true, false].flatMap((learning) => seeds.map((seed) => ({ seed, learning })));
if (!values['report-only'])
  for (const [index, { seed, learning }] of cells.entries()) {
    const known = (await done()).some((line) => line.seed === seed && line.learning === learning);
    console.log(
      `${index + 1} of ${cells.length}: seed ${seed}, ${learning ? 'with learning' : 'learning paused'}${known ? ', done before' : ''}`,
    );
    if (known) continue;
    const report = await runSeed(experiment, {
      seed,
      learning,
      rounds,
      questions,
      n,
      print: (line) => console.log(line),
    });
    console.log(`  ${report.seconds} s, audit: ${report.audit}`);
    await appendFile(results, `${JSON.stringify({ protocol, ...report })}\n`);
  }
const reports = await done();
const docs = values.docs ?? (values.results === undefined ? here('../../../docs/use') : undefined);
if (docs === undefined) console.log(learningTable(reports));
else {
  await writeFile(`${docs}/${experiment.example}.svg`, drawLearning(experiment.measured, reports));
  await writeLearningReport(`${docs}/tool-agents.md`, name, reports);
  console.log(`${reports.length} runs: ${docs}/tool-agents.md`);
}
