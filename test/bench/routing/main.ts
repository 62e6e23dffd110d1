// npm run bench:routing [-- --seeds 1,2 --rounds 5 --questions 40 --n 8]: claw-nano learns to route questions to the
// tools of an MCP server, with learning and with learning paused. What is done already is not done again; Ctrl-C ends
// it. Writes results, a table and a plot.
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawRouting } from './plot.ts';
import { writeRoutingReport } from './report.ts';
import { runSeed, type SeedReport } from './run-seed.ts';
import { routingFlags } from './settings.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3,4,5' },
    rounds: { type: 'string', default: '5' },
    questions: { type: 'string', default: '40' },
    n: { type: 'string', default: '8' },
    results: { type: 'string', default: here('results.jsonl') },
    docs: { type: 'string', default: here('../../../docs/use') },
    'report-only': { type: 'boolean', default: false },
  },
});
const [rounds, questions, n] = [Number(values.rounds), Number(values.questions), Number(values.n)];

const protocol = JSON.stringify({ rounds, questions, n, flags: routingFlags });
type Line = SeedReport & { readonly protocol: string };
const done = async (): Promise<readonly Line[]> =>
  (await readFile(values.results, 'utf8').catch(() => ''))
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
    const report = await runSeed({
      seed,
      learning,
      rounds,
      questions,
      n,
      flags: routingFlags,
      print: (line) => console.log(line),
    });
    console.log(`  ${report.seconds} s, audit: ${report.audit}`);
    await appendFile(values.results, `${JSON.stringify({ protocol, ...report })}\n`);
  }
const reports = await done();
await writeFile(`${values.docs}/tool-routing.svg`, drawRouting(reports));
await writeRoutingReport(`${values.docs}/tool-agents.md`, reports);
console.log(`${reports.length} runs: ${values.docs}/tool-agents.md`);
