import type { z } from 'zod';
import { ServingError } from '../errors.ts';

/**
 * Validates a body. @throws ServingError INVALID_REQUEST with the name of the first invalid field.
 */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const param = issue.path.join('.');
  if (param === '') throw ServingError.INVALID_REQUEST({ detail: 'The body must be a JSON object.' });
  throw ServingError.INVALID_REQUEST({ param, detail: `Invalid '${param}': ${issue.message}.` });
}
