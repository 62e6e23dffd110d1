import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SESSION_KEY_BEGINS } from '../../../shared/config/configured-key.ts';

/** The contents of a session key. It includes its owner, so that any replica can check it. */
export type SessionKey = {
  /** as in events */
  readonly id: string;
  /** id of the access key that opened its sessions */
  readonly keyId: string;
};

const PREFIX = SESSION_KEY_BEGINS;
const ID_BYTES = 12;
const SIGNATURE_BYTES = 32;

/** Whether a key has the form of a session key. */
export const isSessionKey = (key: string): boolean => key.startsWith(PREFIX);

export const newSessionKey = (keyId: string): SessionKey => ({
  id: randomBytes(ID_BYTES).toString('hex'),
  keyId,
});

/** `sk-sess-` and base64url of: id, id of the access key, HMAC-SHA-256 of both under the secret. */
export function writeSessionKey({ id, keyId }: SessionKey, secret: Uint8Array): string {
  const payload = Buffer.concat([Buffer.from(id, 'hex'), Buffer.from(keyId, 'utf8')]);
  return PREFIX + Buffer.concat([payload, signatureOf(payload, secret)]).toString('base64url');
}

/** Undefined: the key was not signed with this secret. */
export function readSessionKey(key: string, secret: Uint8Array): SessionKey | undefined {
  if (!isSessionKey(key)) return undefined;
  const text = key.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  // the decoder skips invalid characters, so compare: each key has exactly one spelling
  if (bytes.length < ID_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== text) return undefined;
  const payload = bytes.subarray(0, -SIGNATURE_BYTES);
  const signature = bytes.subarray(-SIGNATURE_BYTES);
  if (!timingSafeEqual(signature, signatureOf(payload, secret))) return undefined;
  return { id: payload.toString('hex', 0, ID_BYTES), keyId: payload.toString('utf8', ID_BYTES) };
}

/** Signs the purpose too, because the secret also signs other things. */
const signatureOf = (payload: Uint8Array, secret: Uint8Array): Buffer =>
  createHmac('sha256', secret).update('clawloop session key\n').update(payload).digest();
