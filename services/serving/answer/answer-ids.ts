import { randomUUID, timingSafeEqual } from 'node:crypto';
import { createKeyedHash } from './keyed-hash.ts';

/** Prefixes of answer ids, by API. */
const prefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;
type Api = keyof typeof prefixes;

/** Answer ids. Each is signed for the access key that receives it. */
export type AnswerIds = {
  readonly make: (keyId: string, lane: string, api: Api, choices?: number) => string;
  /** The lane of an answer or of one of its choices; undefined: no such id was issued to this key. */
  readonly laneOf: (id: string, keyId: string) => string | undefined;
};

/** Hexadecimal digits of the number of the last choice, which are part of the signed digits. */
const CHOICE_DIGITS = 2;
const RANDOM_DIGITS = 20 - CHOICE_DIGITS;
const SIGNATURE_DIGITS = 12;

/** `<prefix><lane>-<random><signature>`, and `-<choice>` for all choices except the first. */
const idPattern =
  /^(?<prefix>chatcmpl-|msg_|resp_)(?<lane>[0-9a-f]{12})-(?<random>[0-9a-f]{20})(?<signature>[0-9a-f]{12})(?:-(?<choice>[1-9]\d{0,2}))?$/;

/**
 * The lane in an id, so that feedback finds its partition without a look-up; undefined: the id does not have the form
 * of this server's ids. Does not check the signature; `AnswerIds` does.
 */
export const laneOfCompletion = (id: string): string | undefined => idPattern.exec(id)?.groups?.lane;

/** Each choice has its own id; the completion's id is that of choice 0. */
export const choiceId = (completionId: string, choice: number): string =>
  choice === 0 ? completionId : `${completionId}-${choice}`;

/** The completion of an answer's or choice's id. */
export const completionOf = (id: string): string => (idPattern.test(id) ? id.replace(/-\d{1,3}$/, '') : id);

/**
 * @param secret shared by all replicas, so that each accepts the ids of the others, also after a restart
 */
export function createAnswerIds(secret: Uint8Array): AnswerIds {
  const keyedHash = createKeyedHash(secret);
  const signatureOf = (...signed: readonly string[]): string =>
    keyedHash(`clawloop answer id\n${JSON.stringify(signed)}`).slice(0, SIGNATURE_DIGITS);
  return {
    make: (keyId, lane, api, choices = 1) => {
      const prefix = prefixes[api];
      const random = (choices - 1).toString(16).padStart(CHOICE_DIGITS, '0') + randomHex();
      return `${prefix}${lane}-${random}${signatureOf(keyId, lane, prefix, random)}`;
    },
    laneOf: (id, keyId) => {
      const parts = idPattern.exec(id)?.groups as Readonly<Record<string, string>> | undefined;
      if (parts === undefined) return undefined;
      const { prefix = '', lane = '', random = '', signature = '', choice = '0' } = parts;
      if (Number(choice) > Number.parseInt(random.slice(0, CHOICE_DIGITS), 16)) return undefined;
      const expected = signatureOf(keyId, lane, prefix, random);
      return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? lane : undefined;
    },
  };
}

/** 66 bits are random. A UUID takes a tenth of the time of `randomBytes`. */
const randomHex = (): string => randomUUID().replaceAll('-', '').slice(0, RANDOM_DIGITS);
