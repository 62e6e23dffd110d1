import type { z } from 'zod';
import { ServingError } from '../errors.ts';

/**
 * One part of an upstream answer; where it is plainly sound, the schema is not asked.
 * @throws ServingError UPSTREAM_FAILED, which says in one line what is wrong
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
    throw unreadable('it is no JSON');
  }
}

const unreadable = (why: string) =>
  ServingError.UPSTREAM_FAILED({ detail: `a part of its answer cannot be read (${why})` });
