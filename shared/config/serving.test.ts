import { expect, test } from 'vitest';
import { ServingConfig } from './serving.ts';

test('the address of an upstream engine, which is logged, contains no credentials', () => {
  const accepts = (upstreamUrl: string) => ServingConfig.safeParse({ upstreamUrl }).success;
  expect(accepts('http://engine:8000/v1')).toBe(true);
  for (const url of ['http://user:secret@engine:8000/v1', 'http://token@engine/v1', 'no address'])
    expect(accepts(url), url).toBe(false);
});
