/** Whether a URL that is logged contains no password. An invalid URL has its own error. */
export const hasNoPassword = (url: string): boolean => !URL.canParse(url) || new URL(url).password === '';

/** Whether a URL that is logged contains no user and no password, which may be a token. */
export const hasNoCredentials = (url: string): boolean =>
  hasNoPassword(url) && (!URL.canParse(url) || new URL(url).username === '');
