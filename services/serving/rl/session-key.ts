import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SESSION_KEY_BEGINS } from '../../../shared/service/configured-key.ts';

/** What a session key says of itself; whose it is stands in it, so that any replica can tell. */
export type SessionKey = {
  /** stands in the facts */
  readonly id: string;
  /** of the access key that opened its sessions */
  readonly keyId: string;
};

const PREFIX = SESSION_KEY_BEGINS;
const ID_BYTES = 12;
const SIGNATURE_BYTES = 32;

/** Whether a key claims to be one. */
export const isSessionKey = (key: string): boolean => key.startsWith(PREFIX);

export const newSessionKey = (keyId: string): SessionKey => ({
  id: randomBytes(ID_BYTES).toString('hex'),
  keyId,
});

/** `sk-sess-` and base64url of: id, id of the access key, HMAC-SHA-256 of both under the secret. */
export function writeSessionKey({ id, keyId }: SessionKey, secret: Uint8Array): string {
  const said = Buffer.concat([Buffer.from(id, 'hex'), Buffer.from(keyId, 'utf8')]);
  return PREFIX + Buffer.concat([said, signatureOf(said, secret)]).toString('base64url');
}

/** Undefined: it was not made with this secret. */
export function readSessionKey(key: string, secret: Uint8Array): SessionKey | undefined {
  if (!isSessionKey(key)) return undefined;
  const text = key.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  // the decoder passes over what is no base64url: one key has one spelling
  if (bytes.length < ID_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== text) return undefined;
  const said = bytes.subarray(0, -SIGNATURE_BYTES);
  const signature = bytes.subarray(-SIGNATURE_BYTES);
  if (!timingSafeEqual(signature, signatureOf(said, secret))) return undefined;
  return { id: said.toString('hex', 0, ID_BYTES), keyId: said.toString('utf8', ID_BYTES) };
}

/** The purpose is signed too: the secret may sign other things one day. */
const signatureOf = (said: Uint8Array, secret: Uint8Array): Buffer =>
  createHmac('sha256', secret).update('clawloop session key\n').update(said).digest();
