import type { z } from 'zod';
import { type ClawLoopEvent, catalogue } from './catalogue.ts';
import { type EventDefinition, envelopeSchema, type Topic } from './define-event.ts';

const definitions: ReadonlyMap<string, EventDefinition> = new Map(
  catalogue.map((definition): [string, EventDefinition] => [definition.type, definition as EventDefinition]),
);

/**
 * A parsed record. Only `event` is folded; `unknown` is ignored, `broken` goes to dead-letters, `newer` stops the
 * partition.
 */
export type ParsedRecord =
  | { readonly kind: 'event'; readonly event: ClawLoopEvent }
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'newer'; readonly type: string; readonly version: number; readonly known: number }
  | { readonly kind: 'broken'; readonly error: string };

/** Parses the JSON of a record. Never throws. */
export function parseEvent(body: string): ParsedRecord {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (error) {
    return { kind: 'broken', error: `not JSON: ${(error as Error).message}` };
  }
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) return { kind: 'broken', error: `not an envelope: ${readable(envelope.error)}` };
  const { type, dataschema } = envelope.data;
  const definition = definitions.get(type);
  if (definition === undefined) return { kind: 'unknown', type };
  const version = Number(dataschema.split(':').at(-1));
  if (version > definition.version) return { kind: 'newer', type, version, known: definition.version };
  const data = definition.schema.safeParse(envelope.data.data);
  if (!data.success) return { kind: 'broken', error: `not a ${type}: ${readable(data.error)}` };
  return { kind: 'event', event: { ...envelope.data, data: data.data } as ClawLoopEvent };
}

export function topicOf(event: ClawLoopEvent): Topic {
  return definitions.get(event.type)!.topic;
}

const readable = (error: z.ZodError): string =>
  error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.join('.') || '(root)'}: ${issue.message}`)
    .join('; ');
