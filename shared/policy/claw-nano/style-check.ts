/** How claw-nano's own measurements tell the traits of an answer from its text alone. */

export const hasList = (text: string): boolean => /^\s*(?:[-*\u2022]|\d+[.)])\s/m.test(text);

export const hasGreeting = (text: string): boolean => /^\s*(?:hello|hi|hey)\b/i.test(text);

export const hasClosing = (text: string): boolean =>
  /(?:I hope this helps!|Let me know if you need more\.|Have a nice day!|Take care!|All the best!)$/.test(
    text.trim(),
  );

export const wordCount = (text: string): number =>
  text.match(/[\p{L}\p{N}]+(?:['-][\p{L}\p{N}]+)*/gu)?.length ?? 0;

/** How many of the facts an answer names, whatever the case of their letters. */
export const factsNamed = (text: string, facts: readonly string[]): number =>
  facts.filter((fact) => text.toLowerCase().includes(fact.toLowerCase())).length;
