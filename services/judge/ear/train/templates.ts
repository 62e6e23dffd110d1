import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Random } from '../../../../shared/policy/random.ts';
import { parseRows, type Row } from './read-rows.ts';

/** Sentences that one template gives at most. */
const MOST_EACH = 6;
/** Slots within slots. */
const DEEPEST = 4;

type Slots = ReadonlyMap<string, readonly string[]>;

/** Rows from the templates of a folder: each with its slots filled in several ways. */
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
    if (choices === undefined || depth > DEEPEST) throw new Error(`no slot ${name} in: ${template}`);
    return fill(choices[Math.floor(random() * choices.length)]!, slots, random, depth + 1);
  });
}
