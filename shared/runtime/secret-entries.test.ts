import { expect, test } from 'vitest';
import { createSecretEntries, entryOfFingerprint, entryOfReset } from './secret-entries.ts';

test('the first fingerprint since the last reset counts, also if the entries are applied again', () => {
  const [first, second, third] = ['a', 'b', 'c'].map(entryOfFingerprint);
  const entries = [first!, second!, entryOfReset(), third!, second!];
  const known = createSecretEntries();
  const seen = entries.map((entry) => {
    known.apply(entry);
    return known.current();
  });
  expect(seen).toEqual(['a', 'a', undefined, 'c', 'c']);
  entries.forEach(known.apply);
  expect(known.current()).toBe('c');
});

test('other and damaged entries change nothing', () => {
  const known = createSecretEntries();
  known.apply({ name: 'key/secret', value: JSON.stringify({ fingerprint: 'a' }) });
  known.apply({ name: 'secret/1', value: '{broken' });
  known.apply({ name: 'secret/2', value: null });
  expect(known.current()).toBeUndefined();
});
