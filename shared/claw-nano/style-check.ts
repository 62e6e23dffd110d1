/** Detects the traits of an answer from its text. */

export const hasList = (text: string): boolean => /^\s*(?:[-*\u2022]|\d+[.)])\s/m.test(text);

export const hasGreeting = (text: string): boolean => /^\s*(?:hello|hi|hey)\b/i.test(text);

export const hasClosing = (text: string): boolean =>
  /(?:I hope this helps!|Let me know if you need more\.|Have a nice day!|Take care!|All the best!)$/.test(
    text.trim(),
  );

export const wordCount = (text: string): number =>
  text.match(/[\p{L}\p{N}]+(?:['-][\p{L}\p{N}]+)*/gu)?.length ?? 0;

/** Number of the facts that an answer names, ignoring case. */
export const factsNamed = (text: string, facts: readonly string[]): number =>
  facts.filter((fact) => text.toLowerCase().includes(fact.toLowerCase())).length;
