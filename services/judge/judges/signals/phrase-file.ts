import { readFileSync } from 'node:fs';

/** One entry of a phrase file: the words of its head line, and its pattern with all names filled in. */
export type PhraseEntry = {
  readonly head: readonly string[];
  readonly pattern: string;
  /** the pattern behind `unless:` */
  readonly unless: string | undefined;
  /** file and line of the head, for error messages */
  readonly at: string;
};

/** Pieces of patterns by name. */
type Vocabulary = ReadonlyMap<string, string>;

type PhraseFile = { readonly vocabulary: Vocabulary; readonly entries: readonly PhraseEntry[] };

/**
 * Reads a file of `phrases/`. vocabulary.txt describes the format.
 * @throws Error with file and line when a line cannot be read
 */
export const readPhrases = (name: string, vocabulary?: Vocabulary): PhraseFile =>
  parsePhrases(name, readFileSync(new URL(`./phrases/${name}`, import.meta.url), 'utf8'), vocabulary);

/** A space that an editor does not strip from the end of a line. */
const builtIn: Vocabulary = new Map([['_', ' ']]);

type Block = { readonly at: string; readonly head: string; readonly lines: string[] };

/** @param known names that the text may use besides its own; a name must be defined before it is used */
export function parsePhrases(name: string, text: string, known: Vocabulary = builtIn): PhraseFile {
  const vocabulary = new Map(known);
  const entries: PhraseEntry[] = [];
  for (const { at, head, lines } of blocksOf(name, text)) {
    const from = lines.findIndex((line) => line.startsWith(UNLESS));
    const source = (from === -1 ? lines : lines.slice(0, from)).join('');
    const exception = from === -1 ? undefined : lines.slice(from).join('').slice(UNLESS.length).trimStart();
    if (source === '' || exception === '') throw new Error(`${at}: "${head}" has no pattern`);
    const pattern = fillIn(source, vocabulary, at);
    const unless = exception === undefined ? undefined : fillIn(exception, vocabulary, at);
    const defined = /^(\S+) =$/.exec(head)?.[1];
    if (defined === undefined) {
      entries.push({ head: head.split(' '), pattern, unless, at });
      continue;
    }
    if (vocabulary.has(defined)) throw new Error(`${at}: {${defined}} is defined twice`);
    if (unless !== undefined) throw new Error(`${at}: {${defined}} cannot have "${UNLESS}"`);
    vocabulary.set(defined, pattern);
  }
  return { vocabulary, entries };
}

const UNLESS = 'unless:';

function blocksOf(name: string, text: string): readonly Block[] {
  const blocks: Block[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const at = `${name}, line ${index + 1}`;
    if (line === '' || line.startsWith('#')) continue;
    if (line !== line.trimEnd()) throw new Error(`${at}: the line ends with a space`);
    if (!line.startsWith(' ')) blocks.push({ at, head: line, lines: [] });
    else if (blocks.length === 0) throw new Error(`${at}: a pattern without a head line`);
    else blocks.at(-1)!.lines.push(line.trimStart());
  }
  return blocks;
}

/** `\p{L}`, `{2,3}`, `{name}`, `{some:` or `{maybe:`, the end of one of these, and everything else. */
const token = /\\[pP]\{\w+\}|\{\d+(?:,\d*)?\}|\{([\w-]+)\}|\{([\w-]+):|(\})|\\.|[^{}\\]+/gsuy;

/** What `{some:a|b}` and `{maybe:a|b}` stand for. */
const repetitions: Readonly<Record<string, (choices: string) => string>> = {
  some: (choices) => `(?:(?:${choices}) )*`,
  maybe: (choices) => `(?:(?:${choices}) )?`,
};

/** The source with every `{name}` and repetition replaced by the regular expression that it stands for. */
function fillIn(source: string, vocabulary: Vocabulary, at: string): string {
  const open: { readonly repeat: (choices: string) => string; readonly before: string }[] = [];
  let filled = '';
  let end = 0;
  for (const [text, name, repetition, close] of source.matchAll(token)) {
    end += text.length;
    if (name !== undefined) {
      const piece = vocabulary.get(name);
      if (piece === undefined) throw new Error(`${at}: {${name}} is not defined before this line`);
      filled += piece;
    } else if (repetition !== undefined) {
      const repeat = repetitions[repetition];
      if (repeat === undefined) throw new Error(`${at}: {${repetition}: is neither {some: nor {maybe:`);
      open.push({ repeat, before: filled });
      filled = '';
    } else if (close !== undefined) {
      const last = open.pop();
      if (last === undefined) throw new Error(`${at}: a } without its {`);
      filled = last.before + last.repeat(filled);
    } else filled += text;
  }
  if (open.length > 0 || end < source.length) throw new Error(`${at}: a { without its }`);
  return filled;
}

/** The pattern as a regular expression. Throws an Error that names the entry. */
export function compilePhrase(source: string, at: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    throw new Error(`${at}: ${(error as Error).message}`, { cause: error });
  }
}
