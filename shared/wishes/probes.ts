import type { WishKind } from './wishes.ts';

/** Requests for code, for wishes that say nothing of other answers. */
const forCode: readonly string[] = [
  'Write a Python function that reverses a string.',
  'How do I sort an array of numbers in JavaScript?',
  'Show me a SQL query that counts orders per customer.',
  'Write a shell command that finds large files.',
];

/** What to ask a model to see whether it reads a hint; undefined: any request will do. */
export const probesFor = (kind: WishKind): readonly string[] | undefined =>
  kind === 'only-code' || kind === 'explain-code' ? forCode : undefined;
