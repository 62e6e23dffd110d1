import type { WishKind } from './wishes.ts';

/** Requests for code, for wishes that only apply to code. */
const forCode: readonly string[] = [
  'Write a Python function that reverses a string.',
  'How do I sort an array of numbers in JavaScript?',
  'Show me a SQL query that counts orders per customer.',
  'Write a shell command that finds large files.',
];

/** Requests that show whether a model follows a hint; undefined: any request. */
export const probesFor = (kind: WishKind): readonly string[] | undefined =>
  kind === 'only-code' || kind === 'explain-code' ? forCode : undefined;
