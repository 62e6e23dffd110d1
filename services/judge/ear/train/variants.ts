import type { Random } from '../../../../shared/policy/model/random.ts';
import type { Row } from './read-rows.ts';
import type { Example } from './train.ts';

const spaceless = new Set(['zh', 'ja']);

/** Words that people put before a message. */
const prefixes: Readonly<Record<string, readonly string[]>> = {
  en: ['ok but ', 'hm, ', 'Well, ', 'um ', 'So, ', 'hey, ', 'Sorry, ', 'look, ', 'Okay. ', 'honestly '],
  de: ['ok aber ', 'hm, ', 'Na ja, ', 'also ', 'Sorry, ', 'ehrlich gesagt, ', 'Ja, aber '],
  es: ['ok pero ', 'mm, ', 'Bueno, ', 'oye, ', 'Perdona, ', 'a ver, '],
  fr: ['ok mais ', 'hm, ', 'Bon, ', 'euh ', 'Pardon, ', 'franchement '],
  pt: ['ok mas ', 'hm, ', 'Bom, ', 'olha, ', 'Desculpa, ', 'então '],
  zh: ['嗯，', '那个，', '好吧，', '呃 ', '不好意思，'],
  ja: ['うーん、', 'あの、', 'えっと、', 'まあ、', 'すみません、'],
};

const joiners = (language: string): readonly string[] =>
  spaceless.has(language)
    ? ['。', '，', '！', '\n', ' ']
    : ['. ', '. ', '. ', '! ', ', ', ' - ', '\n', '... '];

const pick = <Item>(items: readonly Item[], random: Random): Item =>
  items[Math.floor(random() * items.length)]!;

/** Joins two texts, with a mark between them if the first has none. */
function join(first: string, second: string, language: string, random: Random): string {
  const hasEnd = /[.!?…。！？\n]$/.test(first);
  const between = hasEnd
    ? pick(spaceless.has(language) ? ['', ' ', '\n'] : [' ', ' ', '\n'], random)
    : pick(joiners(language), random);
  return `${first}${between}${second}`;
}

/** Adds a typing error to a word in Latin letters. */
function withTypo(text: string, random: Random): string {
  const places = [...text.matchAll(/[a-zà-ÿ]{4,}/gi)];
  if (places.length === 0) return text;
  const word = pick(places, random);
  const at = word.index + 1 + Math.floor(random() * (word[0].length - 2));
  const kind = random();
  if (kind < 0.35) return text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);
  if (kind < 0.7) return text.slice(0, at) + text.slice(at + 1);
  return text.slice(0, at) + text[at]! + text.slice(at);
}

function restyled(text: string, random: Random): string {
  const kind = random();
  if (kind < 0.3) return text.toLowerCase().replace(/[.!,'’]+/g, '');
  if (kind < 0.45) return text.replace(/[.!?。！？]+$/u, '');
  if (kind < 0.55) return text.toUpperCase();
  if (kind < 0.75) return text.charAt(0).toUpperCase() + text.slice(1);
  if (kind < 0.85)
    return `${text.replace(/[.!?。！？]+$/u, '')}${pick(['!', '!!', '...', '.', ' :(', '?'], random)}`;
  return withTypo(text, random);
}

/** Each row with its variants: misspelt, with a word before it, with a new request behind it. */
export function variantsOf(rows: readonly Row[], random: Random, times: number): readonly Example[] {
  const requests = requestsOf(rows);
  const speaking = rows.filter(({ label, language }) => label === 'bad' && language !== '');
  const byLanguage = groupBy(speaking);
  return rows.flatMap((row, source) => {
    const statesWish = statesWishOf(row);
    const whole = { ...row, source, statesWish };
    const own = row.file.endsWith('-templates') ? 1 : times;
    const examples: Example[] = [whole];
    const ask = () => pick(requests.get(row.language) ?? [''], random);
    const behind = (text: string) => ({ ...whole, text: join(text, ask(), row.language, random) });
    for (let time = 0; time < own; time += 1) {
      examples.push({ ...whole, text: restyled(row.text, random) });
      if (row.text.length < 200)
        examples.push(behind(random() < 0.5 ? row.text : restyled(row.text, random)));
      if (random() < 0.25)
        examples.push({ ...whole, text: `${pick(prefixes[row.language] ?? [''], random)}${row.text}` });
      if (row.label === 'bad' && random() < 0.2) {
        const other = pick(byLanguage.get(row.language)!, random);
        const wishes = [...new Set([...row.wishes, ...other.wishes])];
        const text = join(row.text, other.text, row.language, random);
        examples.push({ ...whole, text, wishes, statesWish: statesWish || statesWishOf(other) || undefined });
      }
    }
    return examples;
  });
}

/** Whether a message states a wish in plain words; undefined: unknown. */
function statesWishOf({ label, wishes, style, file }: Row): boolean | undefined {
  if (label !== 'bad') return label === 'good' ? false : undefined;
  if (wishes.length > 0) return ['direct', 'polite', 'terse', 'typo'].includes(style) ? true : undefined;
  return file.endsWith('-templates') || style !== 'direct' ? false : undefined;
}

const groupBy = (rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> =>
  new Map(
    [...new Set(rows.map(({ language }) => language))].map((one) => [
      one,
      rows.filter(({ language }) => language === one),
    ]),
  );

const requestsOf = (rows: readonly Row[]): ReadonlyMap<string, readonly string[]> => {
  const asking = rows.filter(
    ({ label, style, text }) =>
      label === 'neither' && (style === 'question' || style === 'task') && text.length < 160,
  );
  return new Map([...groupBy(asking)].map(([language, some]) => [language, some.map(({ text }) => text)]));
};
