import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { catalogue } from '../../shared/events/catalogue.ts';

/** JSON schema of an event's data, without descriptions. */
export type EventSchema = { readonly version: number; readonly schema: JsonSchema };
type JsonSchema = { readonly [key: string]: unknown };

export const releasedPath = fileURLToPath(new URL('../../shared/events/released.json', import.meta.url));

/** Event schemas of the last release, by type. */
export const readReleased = (): Readonly<Record<string, EventSchema>> =>
  JSON.parse(readFileSync(releasedPath, 'utf8')) as Readonly<Record<string, EventSchema>>;

/** Event schemas of this code, by type. */
export const currentSchemas = (): Readonly<Record<string, EventSchema>> =>
  Object.fromEntries(
    catalogue.map(({ type, version, schema }) => [
      type,
      { version, schema: withoutDescriptions(z.toJSONSchema(schema, { io: 'output' })) as JsonSchema },
    ]),
  );

function withoutDescriptions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { description: _, ...rest } = schema as { readonly description?: unknown };
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutDescriptions(value)]));
}

/**
 * Schema changes that would break readers of the last release, one line each: a changed schema with the same
 * version, or a missing event type. Empty if every change raises the version.
 */
export function unannounced(
  released: Readonly<Record<string, EventSchema>>,
  current: Readonly<Record<string, EventSchema>>,
): readonly string[] {
  return Object.entries(released).flatMap(([type, before]) => {
    const now = current[type];
    if (now === undefined) return [`${type}: released as version ${before.version}, but no longer defined`];
    if (now.version < before.version)
      return [`${type}: version ${now.version} is older than the released ${before.version}`];
    const isSame = JSON.stringify(sorted(now.schema)) === JSON.stringify(sorted(before.schema));
    return isSame || now.version > before.version
      ? []
      : [
          `${type}: its schema differs from the release, but its version is still ${now.version}; raise it in defineEvent`,
        ];
  });
}

/** The order of fields has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, of]) => [key, sorted(of)]));
}
