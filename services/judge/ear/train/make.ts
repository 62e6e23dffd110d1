/**
 * Trains the ear on the sentences of its data folder: `npm run make:ear [-- --folds N --out FOLDER]`. Takes a
 * minute or two of one core. The same data and seed give the same bytes.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from '../../../../shared/policy/random.ts';
import { readOwnWords } from '../../own-words/own-words.ts';
import { earFolder } from '../read-ear.ts';
import { type Judged, judgeRows } from './evaluate.ts';
import { figuresOf, tableOf } from './figures.ts';
import { foldOf } from './folds.ts';
import { type Row, readRows } from './read-rows.ts';
import { fillTemplates } from './templates.ts';
import { chosenThresholds } from './thresholds.ts';
import { trainEar } from './train.ts';
import { variantsOf } from './variants.ts';
import { pack, writeEar } from './write-ear.ts';

/** Traits that are kept: about a megabyte. */
const MOST_TRAITS = 36_000;

const { values: flags } = parseArgs({
  options: {
    folds: { type: 'string', default: '3' },
    /** of these, how many are held out in turn */
    held: { type: 'string', default: '1' },
    out: { type: 'string', default: earFolder },
    verbose: { type: 'boolean', default: false },
  },
});
const folds = Number(flags.folds);
const data = fileURLToPath(new URL('../data', import.meta.url));

/** As the judge reads them. */
const heardRows = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row) => ({ ...row, text: readOwnWords({ role: 'user', content: row.text }).words }));
const spoken = (rows: readonly Row[]): readonly Row[] => rows.filter(({ text }) => text !== '');

const rows = heardRows(readRows(data));
const templates = spoken(heardRows(fillTemplates(`${data}/templates`, createRandom('templates'))));
const learn = (some: readonly Row[]) =>
  pack(trainEar(variantsOf([...some, ...templates], createRandom('variants'), 1)), MOST_TRAITS);

const started = performance.now();
const say = (what: string) =>
  console.error(`make:ear: ${what} (${Math.round((performance.now() - started) / 1000)} s)`);

say(`${rows.length} messages, ${templates.length} of templates`);
const judged: Judged[] = [];
for (let fold = 0; fold < Number(flags.held); fold += 1) {
  const held = rows.filter((row, index) => foldOf(row, index, folds) === fold);
  const { model } = learn(spoken(rows.filter((row, index) => foldOf(row, index, folds) !== fold)));
  judged.push(...judgeRows(model, held));
  say(`part ${fold + 1} of ${folds} held out`);
}
const figures = figuresOf(judged, chosenThresholds);
console.error(tableOf(judged, chosenThresholds, flags.verbose));
const digest = writeEar(flags.out, learn(spoken(rows)), chosenThresholds, {
  messages: rows.length,
  templates: templates.length,
  ...figures,
});
say(`${digest} in ${flags.out}`);
