import type { z } from 'zod';
import { ServingError } from '../../errors.ts';

/**
 * Parses one part of an upstream answer. `isPlain` accepts common parts without the cost of the schema.
 * @throws ServingError UPSTREAM_FAILED with the reason in one line
 */
export function readPart<Schema extends z.ZodType>(
  schema: Schema,
  data: string,
  isPlain?: (json: unknown) => json is z.output<Schema>,
): z.output<Schema> {
  const json = jsonOf(data);
  if (isPlain?.(json)) return json;
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw unreadable(path.length === 0 ? message : `${path.join('.')}: ${message}`);
}

function jsonOf(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw unreadable('invalid JSON');
  }
}

const unreadable = (why: string) =>
  ServingError.UPSTREAM_FAILED({ detail: `cannot read a part of its answer (${why})` });
