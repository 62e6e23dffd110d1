import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type WishKind, wishKinds } from '../../../../shared/wishes/wishes.ts';

export type Label = 'good' | 'bad' | 'neither';

/** One next message of a person, labelled by hand. */
export type Row = {
  /** the file it stands in, which one person wrote about one subject */
  readonly file: string;
  /** as the file's name begins: en, de, ... */
  readonly language: string;
  readonly label: Label;
  readonly wishes: readonly WishKind[];
  readonly style: string;
  readonly text: string;
};

const labels: readonly string[] = ['good', 'bad', 'neither'] satisfies readonly Label[];
const kinds: readonly string[] = wishKinds;

/** The rows of all tables in a folder, by file name. Throws on a line that is none. */
export const readRows = (folder: string): readonly Row[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.tsv'))
    .sort()
    .flatMap((name) => parseRows(basename(name, '.tsv'), readFileSync(join(folder, name), 'utf8')));

/** Lines of `label TAB wishes TAB style TAB text`; `#` begins a comment. */
export const parseRows = (file: string, table: string): readonly Row[] =>
  table.split('\n').flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [label, wishes, style, text] = line.split('\t');
    const named = wishes === '-' ? [] : (wishes ?? '').split(',').map((kind) => kind.trim());
    const isRow = labels.includes(label!) && named.every((kind) => kinds.includes(kind)) && text?.trim();
    if (!isRow) throw new Error(`${file}, line ${index + 1}: ${line}`);
    return [
      {
        file,
        language: file.split('-')[0]!,
        label: label as Label,
        wishes: named as readonly WishKind[],
        style: style!,
        // a line end within a message is written as \n
        text: text!.trim().replaceAll('\\n', '\n'),
      },
    ];
  });
