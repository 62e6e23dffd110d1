import { type Clause, clausesOf } from './clauses.ts';
import { any } from './rule.ts';
import { rules } from './rules.ts';

/** A rule that fired, and on what. The sign of the weight is what it says. */
export type Evidence = {
  readonly rule: string;
  readonly weight: number;
  /** the words that it fired on */
  readonly on: string;
  /** the sentence they stand in, as written; empty for evidence that is no one's words */
  readonly sentence: string;
  readonly contrast: boolean;
};

/** Sentences after which "thanks" is about the answer and not about a favour that was just asked for. */
const statement = new RegExp(
  `^${any(
    'i|it|that|this|you|we|no|got|will|makes|now i|all|oh|ah|ok|okay|yes|yeah|wow|haha|sure|right|alright',
    'finally',
    'great|perfect|nice|good|awesome|exactly|at last|much|love',
  )}\\b`,
);

/** Per clause and direction, the strongest rule that fires. */
export function lexicalEvidence(message: string): readonly Evidence[] {
  const clauses = clausesOf(message);
  const found = clauses.map((clause) => evidenceOf(clause));
  const speaksOfAnswer = (index: number) =>
    clauses.slice(0, index).every(({ text }, before) => found[before]!.length > 0 || statement.test(text));
  return found.flatMap((evidence, index) =>
    evidence.filter(({ rule }) => rule !== 'thanks' || speaksOfAnswer(index)),
  );
}

function evidenceOf({ text, sentence, contrast }: Clause): readonly Evidence[] {
  const fired = rules
    .filter(({ pattern, unless }) => pattern.test(text) && unless?.test(text) !== true)
    .map(({ name, weight }) => ({ rule: name, weight, on: text, sentence, contrast }));
  const strongest = (sign: 1 | -1) =>
    fired
      .filter(({ weight }) => Math.sign(weight) === sign)
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  return [...strongest(1).slice(0, 1), ...strongest(-1).slice(0, 1)];
}

/**
 * -1, 0 or 1. What follows a "but" outranks what stands before it. Otherwise the sign of the sum: praise and
 * complaint of the
 * same strength are no verdict.
 */
export function weigh(evidence: readonly Evidence[]): -1 | 0 | 1 {
  const after = evidence.filter(({ contrast }) => contrast);
  const sum = (after.length > 0 ? after : evidence).reduce((total, { weight }) => total + weight, 0);
  return Math.sign(sum) as -1 | 0 | 1;
}
