// npm run bench:rollback [-- --seeds 1,2 --cases bad --write-docs]: scripted people chat with claw-nano. Five bad
// candidates of different kinds replace the candidate of a step; other runs have only candidates of true verdicts. It
// measures which candidates the gate stops and which the verdicts roll back. In this process, without HTTP. Finished
// runs are not repeated; Ctrl-C ends the run after the current session.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { assembleSettings, submitSettings } from '../../../services/collector/settings.ts';
import { createJudge } from '../../../services/judge/judges/judges.ts';
import { CollectorConfig } from '../../../shared/config/collector.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import type { BackendChoice } from '../../../shared/policy/executors/backend.ts';
import { CLAW_NANO } from '../../../shared/policy/model/model-folder.ts';
import { type Person, people } from '../../people/people.ts';
import { bareList, matterOfFact } from '../../people/tastes.ts';
import { addJsonLine, readJsonLines } from '../json-lines.ts';
import { openLearningModel } from '../learning/model.ts';
import { createProgress } from '../learning/progress.ts';
import { readFlags } from '../read-flags.ts';
import { listOf } from '../set-flags.ts';
import { writeTables } from '../write-tables.ts';
import { rollbackTables } from './report.ts';
import { type BadOutcome, type GoodOutcome, type Lengths, runBad, runGood } from './run.ts';

/** Increased when a change of the bench changes the results of a run. */
const REVISION = 2;
const lengths: Lengths = { before: 10, between: 2, patience: 10, good: 12 };

const { values } = readFlags(
  'npm run bench:rollback -- ...: which bad candidates the gate stops, and which the verdicts roll back',
  {
    options: {
      seeds: { type: 'string', default: '1' },
      cases: { type: 'string', default: 'bad,good' },
      backend: { type: 'string', default: 'auto' },
      results: { type: 'string', default: fileURLToPath(new URL('results.jsonl', import.meta.url)) },
      'write-docs': { type: 'boolean', default: false },
      'report-only': { type: 'boolean', default: false },
    },
  },
);
const seeds = listOf(values.seeds).map(Number);

const named = (name: string): Person => people.find((person) => person.name === name)!;
/** Characters of an answer that is too long to read to the end. */
const TOO_LONG = 300;
/** Likes most answers of the base: those that say something and end. Presses a thumb, so every verdict is heard. */
const content: Person = {
  ...named('thumbs only'),
  name: 'content',
  wantsContent: true,
  taste: () => ({
    name: 'not too long',
    faults: (answer) => (answer.length > TOO_LONG ? ['long'] : []),
  }),
};
const changing: Person = {
  ...named('direct'),
  name: 'changes their mind after six sessions',
  taste: (session) => (session <= 6 ? bareList : matterOfFact),
};
const goodPeople = [named('direct'), named('Spanish'), named('is wrong now and then'), changing];

const judgeConfig = JudgeConfig.parse({ model: CLAW_NANO });
const config = CollectorConfig.parse({ model: CLAW_NANO });
const measuredBy = [REVISION, lengths, submitSettings(config), assembleSettings(config), judgeConfig.kind];
const protocol = createHash('sha256').update(JSON.stringify(measuredBy)).digest('hex').slice(0, 12);

type Line = { readonly protocol: string; readonly name: string } & (
  | { readonly bad: readonly BadOutcome[] }
  | { readonly good: GoodOutcome }
);
const lines = async () =>
  (await readJsonLines<Line>(values.results)).filter((line) => line.protocol === protocol);

const stop = new AbortController();
process.once('SIGINT', () => {
  console.log('\nending after this session; finished runs are kept. Press Ctrl-C again to end at once.');
  stop.abort();
});

if (!values['report-only']) {
  try {
    await runAll();
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.exitCode = 130;
  }
}
const done = await lines();
const tables = rollbackTables(
  done.flatMap((line) => ('bad' in line ? line.bad : [])),
  done.flatMap((line) => ('good' in line ? [line.good] : [])),
);
console.log(`\n${tables}\n\n${values.results}`);
if (values['write-docs']) await writeTables('rollback', tables);

async function runAll(): Promise<void> {
  const model = await openLearningModel(values.backend as BackendChoice);
  const judge = await createJudge(judgeConfig);
  console.log(`${model.report}; judge ${judge.name}`);
  const bench = { model, judge };
  const known = new Set((await lines()).map(({ name }) => name));
  const cases = seeds
    .flatMap((seed) => [
      { name: `bad candidates, seed ${seed}`, seed, person: undefined },
      ...goodPeople.map((person) => ({ name: `${person.name}, seed ${seed}`, seed, person })),
    ])
    .filter(({ person }) => listOf(values.cases).includes(person === undefined ? 'bad' : 'good'))
    .filter(({ name }) => !known.has(name));
  const progress = createProgress(cases.length, process.stdout);
  try {
    for (const { name, seed, person } of cases) {
      const hooks = { signal: stop.signal, onSession: (share: number) => progress.at(name, share) };
      const result =
        person === undefined
          ? { bad: await runBad(bench, content, { seed, lengths }, hooks) }
          : { good: await runGood(bench, person, { seed, lengths }, hooks) };
      await addJsonLine(values.results, { protocol, name, ...result } satisfies Line);
      progress.done(`${name}: ${JSON.stringify('bad' in result ? result.bad : result.good)}`);
    }
  } finally {
    await judge.close?.();
    model.dispose();
  }
}
