/**
 * A family of everyday requests that share their wording; `{topic}` stands for the entry's name and `{items}` for
 * some of its items, joined as English ("a, b and c").
 */
export type Family = {
  readonly name: string;
  /** Ways to ask; none of them names a style. */
  readonly asks: readonly string[];
  /**
   * Sentences that end in a colon, before items on lines of their own. Their first word is never that of a prose
   * sentence: whether an answer is a list is then decided by one token, which is easy to learn and to change.
   */
  readonly listLeads: readonly string[];
  /** Whole sentences that hold the items. */
  readonly proses: readonly string[];
  /** Follow-up remarks that fit every entry; a long answer has one of them and the entry's own. */
  readonly remarks: readonly string[];
  readonly entries: readonly Entry[];
};

export type Entry = {
  /** As it stands in a sentence. */
  readonly topic: string;
  /** What an answer may name, each a fact that can be looked for in the answer's text. */
  readonly items: readonly string[];
  readonly tip: string;
};

/** One row of a table; the items stand in one string, separated by commas. */
export const entry = (topic: string, items: string, tip: string): Entry => ({
  topic,
  items: items.split(', '),
  tip,
});

/** One entry of one family. */
export type Topic = { readonly id: string; readonly family: Family; readonly entry: Entry };
