import { expect, test } from 'vitest';
import { z } from 'zod';
import { readBody } from './read-body.ts';

test('the error names the first invalid field, if the body is an object', () => {
  const schema = z.object({ session: z.object({ name: z.string() }) });
  const read = (body: unknown) => () => readBody(schema, body);
  expect(read({ session: { name: 'a' } })()).toEqual({ session: { name: 'a' } });
  const refused = (param: string | null) => expect.objectContaining({ status: 400, param });
  expect(read({ session: { name: 5 } })).toThrow(refused('session.name'));
  for (const body of [[], 'text', null, undefined]) expect(read(body)).toThrow(refused(null));
});
