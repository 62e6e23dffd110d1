import { Status } from './fake-promises.ts';

type KeyOptions = { readonly apiKey?: string; readonly tokensForS?: number };

/** Calls that take the key itself where others take a token. */
const early: ReadonlySet<string> = new Set(['/api/v1/client/config', '/api/v1/auth/token']);

/** Checks keys, and issues short-lived tokens where they are switched on. Signed links need neither. */
export function createFakeKeys({ apiKey, tokensForS }: KeyOptions) {
  const tokens = new Set<string>();
  return {
    calls: {
      'client/config': () => ({ pjwt_auth_enabled: tokensForS !== undefined }),
      'auth/token': () => {
        const claims = { exp: Math.floor(Date.now() / 1000) + (tokensForS ?? 0) };
        const jwt = `eyJ.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${tokens.size}`;
        tokens.add(jwt);
        return { jwt };
      },
    },
    check: (path: string, key: unknown): void => {
      if (apiKey === undefined || path.includes('/files/') || path.startsWith('/fake/')) return;
      const needsToken = tokensForS !== undefined && !early.has(path);
      const isRight = needsToken ? typeof key === 'string' && tokens.has(key) : key === apiKey;
      if (!isRight) throw new Status(401, 'Invalid API key');
    },
  };
}
