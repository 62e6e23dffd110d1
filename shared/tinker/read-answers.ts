import type { z } from 'zod';
import { parseJson } from '../lang/json.ts';
import type { ServiceError } from '../runtime/errors.ts';
import { explanationOf } from './answers.ts';
import { refusalOf, TinkerError } from './errors.ts';
import { textOf } from './exchange.ts';
import { type HttpAnswer, originOf } from './http.ts';

/** What a call is about, for its errors. */
export type Subject = { readonly model?: string; readonly sequence?: number };

/** A result may also be protobuf. */
export type RawResult =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'protobuf'; readonly bytes: Uint8Array };

export type AnswerReader = {
  readonly badAnswer: (path: string, detail: string) => ServiceError;
  /** The error of an answer that is a refusal. `attempts`: how often it was asked. */
  readonly refused: (answer: HttpAnswer, path: string, subject: Subject, attempts?: number) => ServiceError;
  /** @throws BAD_ANSWER */
  readonly read: (answer: HttpAnswer, path: string) => RawResult;
  /** @throws BAD_ANSWER */
  readonly parse: <Schema extends z.ZodType>(
    schema: Schema,
    result: RawResult,
    path: string,
  ) => z.output<Schema>;
  /** @throws BAD_ANSWER, or the error of a refusal */
  readonly parseAnswer: <Schema extends z.ZodType>(
    schema: Schema,
    answer: HttpAnswer,
    path: string,
    subject: Subject & { readonly isEmpty?: boolean },
  ) => z.output<Schema>;
};

export const PROTOBUF = 'application/x-protobuf';

/**
 * Reads a server's answers, once and strictly.
 *
 * @param hide removes the key from a text, because a server may repeat it
 */
export function createAnswerReader(
  { url, project = '(none)' }: { readonly url: string; readonly project: string | undefined },
  hide: (text: string) => string,
): AnswerReader {
  const origin = originOf(url);
  const badAnswer: AnswerReader['badAnswer'] = (path, detail) =>
    TinkerError.BAD_ANSWER({ url: origin, path, detail: hide(detail) });
  const refused: AnswerReader['refused'] = (answer, path, { model = '?', sequence = 0 }, attempts = 1) => {
    const { status } = answer;
    const detail = hide(explanationOf(textOf(answer)) ?? `status ${status}`);
    return refusalOf({ status, detail, path, url: origin, project, model, sequence, attempts });
  };
  const read: AnswerReader['read'] = (answer, path) => {
    if (answer.contentType.startsWith(PROTOBUF)) return { kind: 'protobuf', bytes: answer.bytes };
    const value = parseJson(textOf(answer));
    if (value === undefined) throw badAnswer(path, `no JSON: ${textOf(answer).slice(0, 100)}`);
    return { kind: 'json', value };
  };
  const parse: AnswerReader['parse'] = (schema, result, path) => {
    const checked = schema.safeParse(result.kind === 'json' ? result.value : undefined);
    if (checked.success) return checked.data;
    const [{ message, path: place }] = checked.error.issues as [z.core.$ZodIssue];
    throw badAnswer(path, `${place.map(String).join('.')}: ${message}`);
  };
  return {
    badAnswer,
    refused,
    read,
    parse,
    parseAnswer: (schema, answer, path, subject) => {
      if (answer.status >= 300) throw refused(answer, path, subject);
      if (subject.isEmpty === true && answer.bytes.length === 0) return schema.parse({});
      return parse(schema, read(answer, path), path);
    },
  };
}
