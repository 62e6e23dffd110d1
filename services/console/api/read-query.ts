import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ConsoleError } from '../errors.ts';

/** @throws ConsoleError INVALID_REQUEST */
export function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  request: FastifyRequest,
): z.output<Schema> {
  const parsed = schema.safeParse(request.query);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw ConsoleError.INVALID_REQUEST({ detail: `${path.join('.')}: ${message}` });
}

const text = z.string().max(500);
/** An empty field of a form means: any. */
const any = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

export const adapterQuery = z.object({ adapter: any(text) });

/** `latest`: how many versions */
export const versionsQuery = z.object({
  adapter: any(text),
  latest: z.coerce.number().int().min(1).max(1_000).default(30),
});

export const turnQuery = z.object({
  adapter: any(text),
  outcome: any(z.enum(['trained', 'not-trained', 'open'])),
  verdict: any(z.enum(['good', 'bad', 'neither'])),
  reason: any(text),
  session: any(text),
  person: any(text),
  version: any(z.coerce.number().int().min(0)),
  words: any(text),
  cursor: any(text),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const pageQuery = z.object({
  cursor: any(text),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
