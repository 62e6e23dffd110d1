import { z } from 'zod';

/** Three topics of events, and one for records that could not be parsed. */
export const topics = ['conversations', 'turns', 'training', 'dead-letters'] as const;
export type Topic = (typeof topics)[number];

/** CloudEvents 1.0, structured JSON mode. `subject` is the partition key. */
type Envelope<Type extends string = string, Data = unknown> = {
  readonly specversion: '1.0';
  readonly id: string;
  /** the writing service: `clawloop/<service>` */
  readonly source: string;
  readonly type: Type;
  /** RFC 3339, UTC. A fold copies the time of the causing event. */
  readonly time: string;
  readonly subject: string;
  readonly datacontenttype: 'application/json';
  /** `clawloop:<type>:<version>` */
  readonly dataschema: string;
  /** W3C Trace Context */
  readonly traceparent?: string;
  /** for a dead letter that was put back: the groups that had rejected it, separated by commas; others skip it */
  readonly redrivenfor?: string;
  /** its words were erased: time of the words.erased event that says so. Such a record never trains. */
  readonly erased?: string;
  readonly data: Data;
};

/** The fields set by the writer; the definition adds the others. */
export type NewEvent<Data> = {
  readonly id: string;
  readonly source: string;
  readonly time: string;
  readonly traceparent?: string | undefined;
  readonly data: Data;
};

export type EventDefinition<Type extends string = string, Schema extends z.ZodType = z.ZodType> = {
  readonly type: Type;
  /** A reader accepts this version and older ones, and stops at a newer one. */
  readonly version: number;
  readonly topic: Topic;
  readonly writtenBy: string;
  readonly about: string;
  readonly schema: Schema;
  readonly create: (event: NewEvent<z.output<Schema>>) => Envelope<Type, z.output<Schema>>;
};

export type EventOf<Definition> =
  Definition extends EventDefinition<infer Type, infer Schema> ? Envelope<Type, z.output<Schema>> : never;

type Options<Schema extends z.ZodType> = {
  readonly topic: Topic;
  readonly key: (data: z.output<Schema>) => string;
  readonly writtenBy: string;
  /** One sentence for the catalogue: what the event means. */
  readonly about: string;
  readonly data: Schema;
};

/** Defines an event type. `create` builds a complete event; it does not validate the data, which the compiler checks. */
export function defineEvent<const Type extends string, Schema extends z.ZodType>(
  type: Type,
  version: number,
  { topic, key, writtenBy, about, data: schema }: Options<Schema>,
): EventDefinition<Type, Schema> {
  return {
    type,
    version,
    topic,
    writtenBy,
    about,
    schema,
    create: ({ id, source, time, traceparent, data }) => ({
      specversion: '1.0',
      id,
      source,
      type,
      time,
      subject: key(data),
      datacontenttype: 'application/json',
      dataschema: `clawloop:${type}:${version}`,
      ...(traceparent === undefined ? {} : { traceparent }),
      data,
    }),
  };
}

export const envelopeSchema = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string(),
  type: z.string(),
  time: z.iso.datetime({ offset: true }),
  subject: z.string(),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string().regex(/^clawloop:[a-z.-]+:\d+$/),
  traceparent: z.string().optional(),
  redrivenfor: z.string().optional(),
  erased: z.iso.datetime().optional(),
  data: z.unknown(),
});
