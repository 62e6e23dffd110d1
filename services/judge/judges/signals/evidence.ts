import { type Clause, clausesOf } from './clauses.ts';
import { rules } from './rules.ts';

/** A rule that matched. The sign of the weight is the verdict. */
export type Evidence = {
  readonly rule: string;
  readonly weight: number;
  /** the words that it matched */
  readonly on: string;
  /** the sentence of these words, as written; empty if the evidence is not in a person's words */
  readonly sentence: string;
  readonly contrast: boolean;
};

/** Sentences after which "thanks" is about the answer, not about a favour that the person has just asked. */
const statement =
  /^(?:i|it|that|this|you|we|no|got|will|makes|now i|all|oh|ah|ok|okay|yes|yeah|wow|haha|sure|right|alright|finally|great|perfect|nice|good|awesome|exactly|at last|much|love)\b/;

/** The strongest matching rule per clause and direction. */
export function lexicalEvidence(message: string): readonly Evidence[] {
  const clauses = clausesOf(message);
  const byClause = clauses.map((clause) => evidenceOf(clause));
  const speaksOfAnswer = (index: number) =>
    clauses.slice(0, index).every(({ text }, before) => byClause[before]!.length > 0 || statement.test(text));
  return byClause.flatMap((evidence, index) =>
    evidence.filter(({ rule }) => rule !== 'thanks' || speaksOfAnswer(index)),
  );
}

function evidenceOf({ text, sentence, contrast }: Clause): readonly Evidence[] {
  const matches = rules
    .filter(({ pattern, unless }) => pattern.test(text) && unless?.test(text) !== true)
    .map(({ name, weight }) => ({ rule: name, weight, on: text, sentence, contrast }));
  const strongest = (sign: 1 | -1) =>
    matches
      .filter(({ weight }) => Math.sign(weight) === sign)
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  return [...strongest(1).slice(0, 1), ...strongest(-1).slice(0, 1)];
}

/**
 * The sign of the summed weights, so praise and complaint of the same strength give no verdict. Only evidence after
 * a "but" counts, if there is any.
 */
export function weigh(evidence: readonly Evidence[]): -1 | 0 | 1 {
  const afterBut = evidence.filter(({ contrast }) => contrast);
  const sum = (afterBut.length > 0 ? afterBut : evidence).reduce((total, { weight }) => total + weight, 0);
  return Math.sign(sum) as -1 | 0 | 1;
}
