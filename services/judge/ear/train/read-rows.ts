import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Random } from '../../../../shared/policy/model/random.ts';
import { type WishKind, wishKinds } from '../../../../shared/wishes/wishes.ts';

type Label = 'good' | 'bad' | 'neither';

/** A person's next message, labelled manually. */
export type Row = {
  /** its file, which one author wrote about one subject */
  readonly file: string;
  /** prefix of the file name: en, de, ... */
  readonly language: string;
  readonly label: Label;
  readonly wishes: readonly WishKind[];
  readonly style: string;
  readonly text: string;
};

const labels: readonly string[] = ['good', 'bad', 'neither'] satisfies readonly Label[];
const kinds: readonly string[] = wishKinds;

/** The rows of all tables in a folder, in the order of file names. Throws on a malformed line. */
export const readRows = (folder: string): readonly Row[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.tsv'))
    .sort()
    .flatMap((name) => parseRows(basename(name, '.tsv'), readFileSync(join(folder, name), 'utf8')));

/** Lines of `label TAB wishes TAB style TAB text`; `#` begins a comment. */
const parseRows = (file: string, table: string): readonly Row[] =>
  table.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [label, wishes, style, text] = line.split('\t');
    const named = wishes === '-' ? [] : (wishes ?? '').split(',').map((kind) => kind.trim());
    const isRow = labels.includes(label!) && named.every((kind) => kinds.includes(kind)) && text?.trim();
    if (!isRow) throw new Error(`${file}, line ${index + 1}: not a labelled message: ${line}`);
    return [
      {
        file,
        language: file.split('-')[0]!,
        label: label as Label,
        wishes: named as readonly WishKind[],
        style: style!,
        // the table writes a line end within a message as \n
        text: text!.trim().replaceAll('\\n', '\n'),
      },
    ];
  });

/** Maximum sentences per template. */
const MOST_EACH = 6;
/** Maximum nesting of slots. */
const DEEPEST = 4;

type Slots = ReadonlyMap<string, readonly string[]>;

/** Rows from the templates of a folder, each with several fillings of its slots. */
export const fillTemplates = (folder: string, random: Random): readonly Row[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .sort()
    .flatMap((name) => fillFile(basename(name, '.txt'), readFileSync(join(folder, name), 'utf8'), random));

/** `name = one | two` defines a slot; other lines are rows with `{name}` in them. */
function fillFile(language: string, text: string, random: Random): readonly Row[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const slots: Slots = new Map(
    lines
      .filter((line) => !line.includes('\t'))
      .map((line) => {
        const [name, choices = ''] = line.split(' = ');
        return [name!.trim(), choices.split('|').map((choice) => choice.trim())];
      }),
  );
  const templates = parseRows(
    `${language}-templates`,
    lines.filter((line) => line.includes('\t')).join('\n'),
  );
  return templates.flatMap((row) => {
    const texts = new Set<string>();
    for (let time = 0; time < 2 * MOST_EACH && texts.size < MOST_EACH; time += 1)
      texts.add(fill(row.text, slots, random));
    return [...texts].map((filled) => ({ ...row, text: filled }));
  });
}

function fill(template: string, slots: Slots, random: Random, depth = 0): string {
  return template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const choices = slots.get(name);
    if (choices === undefined || depth > DEEPEST)
      throw new Error(`slot ${name} is undefined or nested too deeply in: ${template}`);
    return fill(choices[Math.floor(random() * choices.length)]!, slots, random, depth + 1);
  });
}
