import { compilePhrase, type PhraseEntry, readPhrases } from './phrase-file.ts';

/** What the words of a person say about the answer before them. */
export type Rule = {
  readonly name: string;
  /** The sign is the verdict. 2: plain; 1: may be mere politeness or surprise. */
  readonly weight: -2 | -1 | 1 | 2;
  /** reads one clause (see clauses.ts): lower case, contractions spelled out */
  readonly pattern: RegExp;
  /** a clause that matches this is no evidence after all */
  readonly unless: RegExp | undefined;
};

const { vocabulary } = readPhrases('vocabulary.txt');

const weights: Readonly<Record<string, Rule['weight']>> = { '-2': -2, '-1': -1, '+1': 1, '+2': 2 };

/** @throws Error when the entry is not a rule */
export function ruleOf({ head, pattern, unless, at }: PhraseEntry): Rule {
  const [name = '', sign = '', ...others] = head;
  const weight = weights[sign];
  if (weight === undefined || others.length > 0)
    throw new Error(`${at}: a rule begins with its name and -2, -1, +1 or +2`);
  return {
    name,
    weight,
    pattern: compilePhrase(pattern, at),
    unless: unless === undefined ? undefined : compilePhrase(unless, at),
  };
}

const readRules = (file: string): readonly Rule[] => readPhrases(file, vocabulary).entries.map(ruleOf);

/** Rules about lists, greetings, emojis and the like. */
export const formCorrections: readonly Rule[] = readRules('form-corrections.txt');

/** All rules. Their order does not matter: the strongest rule per clause and direction counts. */
export const rules: readonly Rule[] = [
  ...readRules('praise.txt'),
  ...readRules('complaints.txt'),
  ...readRules('corrections.txt'),
  ...formCorrections,
];
