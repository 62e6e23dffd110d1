/** What may be wrong with an answer. `source`: it names none; `please`: nothing is ever polite enough. */
export type Fault = 'greeting' | 'list' | 'closing' | 'long' | 'prose' | 'cold' | 'content' | 'source';

/** How somebody says what is wrong, and what they say when nothing is. */
export type Voice = {
  readonly about: string;
  readonly complaints: Readonly<Partial<Record<Fault, readonly string[]>>>;
  readonly praise: readonly string[];
};
