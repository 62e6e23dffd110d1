import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Texts that only holders of the secret can read or write. */
export type Sealed = {
  /** @param name where the text is stored: it cannot be read under another name */
  readonly close: (name: string, text: string) => string;
  /** Undefined: not written by a holder of the secret, or not for this name. */
  readonly open: (name: string, sealed: string) => string | undefined;
};

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function sealing(secret: Uint8Array): Sealed {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'clawloop stored answers', 32));
  return {
    close: (name, text) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
    },
    open: (name, sealed) => {
      const bytes = Buffer.from(sealed, 'base64');
      const [tagAt, bodyAt] = [NONCE_BYTES, NONCE_BYTES + TAG_BYTES];
      if (bytes.length < bodyAt) return undefined;
      const cipher = createDecipheriv(CIPHER, key, bytes.subarray(0, tagAt), { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(tagAt, bodyAt));
      try {
        return Buffer.concat([cipher.update(bytes.subarray(bodyAt)), cipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
