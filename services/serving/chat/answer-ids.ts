import { randomUUID, timingSafeEqual } from 'node:crypto';
import { createKeyedHash } from '../keyed-hash.ts';

/** How the ids of each API's answers begin. */
const beginnings = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;
type Api = keyof typeof beginnings;

/** The ids of answers: each is signed for the access key that it is given to. */
export type AnswerIds = {
  readonly make: (keyId: string, lane: string, api: Api) => string;
  /** The lane of an answer, or of one of its choices; undefined: this key was never given such an id. */
  readonly laneOf: (id: string, keyId: string) => string | undefined;
};

const RANDOM_DIGITS = 20;
const SIGNATURE_DIGITS = 12;

/** `<beginning><lane>-<random><signature>`, and `-<choice>` for all choices but the first. */
const form =
  /^(?<beginning>chatcmpl-|msg_|resp_)(?<lane>[0-9a-f]{12})-(?<random>[0-9a-f]{20})(?<signature>[0-9a-f]{12})(?:-[1-9]\d{0,2})?$/;

/**
 * The lane in an id, so that feedback finds its partition without a look-up; undefined: the id does not have
 * the form of this server's. Whether an answer has the id, and whose it is, `AnswerIds` tells.
 */
export const laneOfCompletion = (id: string): string | undefined => form.exec(id)?.groups?.lane;

/** Each choice is an answer with an id of its own; the completion's is that of choice 0. */
export const choiceId = (completionId: string, choice: number): string =>
  choice === 0 ? completionId : `${completionId}-${choice}`;

/**
 * @param secret that all replicas share, so that each of them accepts the ids of the others, also after a
 * restart
 */
export function createAnswerIds(secret: Uint8Array): AnswerIds {
  const hashed = createKeyedHash(secret);
  const signatureOf = (...signed: readonly string[]): string =>
    hashed(`clawloop answer id\n${JSON.stringify(signed)}`).slice(0, SIGNATURE_DIGITS);
  return {
    make: (keyId, lane, api) => {
      const beginning = beginnings[api];
      const random = randomHex();
      return `${beginning}${lane}-${random}${signatureOf(keyId, lane, beginning, random)}`;
    },
    laneOf: (id, keyId) => {
      const parts = form.exec(id)?.groups as Readonly<Record<string, string>> | undefined;
      if (parts === undefined) return undefined;
      const { beginning = '', lane = '', random = '', signature = '' } = parts;
      const expected = signatureOf(keyId, lane, beginning, random);
      return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? lane : undefined;
    },
  };
}

/** 74 bits of them random: a UUID costs a tenth of what `randomBytes` does. */
const randomHex = (): string => randomUUID().replaceAll('-', '').slice(0, RANDOM_DIGITS);
