import { isCardNumber } from './card-number.ts';
import { isJwt, isNoFiller, looksRandom } from './looks-random.ts';

/**
 * Of the table below. A fact that names a kind names it too, as in `github-token@1`: whoever changes a
 * pattern raises it.
 */
export const SECRET_RULES_VERSION = 1;

export type SecretRule = {
  readonly kind: string;
  readonly about: string;
  /**
   * Global. The secret is the group of that name, which ends the match, else the whole match. Quantifiers are
   * bounded, so that no text takes more than linear time.
   */
  readonly pattern: RegExp;
  /** What a pattern cannot say. */
  readonly holds: (secret: string, text: string, start: number) => boolean;
};

/** A token of this alphabet neither begins nor ends in the midst of a longer word. */
const word = (body: string) => new RegExp(`(?<![A-Za-z0-9])(?:${body})(?![A-Za-z0-9])`, 'g');
const wordWithDashes = (body: string) => new RegExp(`(?<![\\w-])(?:${body})(?![\\w-])`, 'g');

/**
 * What a secret looks like: by its vendor's prefix and length, by its form, or by the name that it is given.
 * The forms are those of the vendors' own documentation.
 */
export const secretRules: readonly SecretRule[] = [
  {
    kind: 'private-key',
    about: 'a PEM or PGP private key with its body, or an age identity',
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[A-Za-z0-9+/=\s:,.()"'\\-]){40,20000}(?:-----END [A-Z0-9 ]{1,60}-----)?|\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g,
    holds: (secret) => /[A-Za-z0-9+/=]{40}|^AGE/.test(secret),
  },
  {
    kind: 'aws-access-key',
    about: 'an access key id of AWS (AKIA, ASIA)',
    pattern: word('(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}'),
    holds: isNoFiller,
  },
  {
    kind: 'aws-secret-key',
    about: 'a secret access key of AWS under its name',
    pattern:
      /secret[ _-]?access[ _-]?key["'`\s]{0,4}(?:=>|[:=]|is)["'`\s]{0,4}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
    holds: isNoFiller,
  },
  {
    kind: 'github-token',
    about: 'a token of GitHub (ghp_, gho_, ghu_, ghs_, ghr_, github_pat_)',
    pattern: word('gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
    holds: isNoFiller,
  },
  {
    kind: 'gitlab-token',
    about: 'a token of GitLab (glpat- and the like)',
    pattern: wordWithDashes('gl(?:pat|dt|ptt|rt|soat|cbt|ft)-[A-Za-z0-9_-]{20,300}'),
    holds: (secret) => /\d/.test(secret) && isNoFiller(secret),
  },
  {
    kind: 'model-key',
    about: 'a key of OpenAI, Anthropic, OpenRouter, Hugging Face, Groq, xAI, Perplexity or Replicate',
    pattern: wordWithDashes(
      'sk-(?:proj|svcacct|admin|ant)-[A-Za-z0-9_-]{30,300}|sk-or-v1-[0-9a-f]{64}|sk-[A-Za-z0-9]{32,64}' +
        '|hf_[A-Za-z0-9]{34,40}|gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{80}|pplx-[A-Za-z0-9]{48}|r8_[A-Za-z0-9]{37}',
    ),
    holds: (secret) => (/\d/.test(secret) || secret.startsWith('hf_')) && isNoFiller(secret),
  },
  {
    kind: 'clawloop-key',
    about: 'an access key of ClawLoop',
    pattern: wordWithDashes('claw-[A-Za-z0-9_-]{32}'),
    holds: (secret) => /[A-Z]/.test(secret) && /\d/.test(secret) && isNoFiller(secret),
  },
  {
    kind: 'google-key',
    about: 'a key, client secret or access token of Google (AIza, GOCSPX-, ya29.)',
    pattern: wordWithDashes('AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\\.[A-Za-z0-9_-]{40,400}'),
    holds: isNoFiller,
  },
  {
    kind: 'slack-token',
    about: 'a token or webhook of Slack (xoxb-, xoxp-, xapp-, hooks.slack.com)',
    pattern:
      /(?<![\w-])(?:xox[abeoprs]-[A-Za-z0-9-]{20,300}|xapp-\d-[A-Za-z0-9-]{20,300})(?![\w-])|\bhooks\.slack\.com\/services\/T[A-Z0-9]{6,14}\/B[A-Z0-9]{6,14}\/[A-Za-z0-9]{20,30}/g,
    holds: (secret) => /\d/.test(secret) && isNoFiller(secret),
  },
  {
    kind: 'payment-key',
    about: 'a secret key of Stripe (sk_live_, rk_live_, whsec_) or an access token of Square or Shopify',
    pattern: word(
      '[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9]{32,64}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}' +
        '|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'package-token',
    about: 'a token of npm, PyPI, RubyGems or Docker Hub',
    pattern: word(
      'npm_[A-Za-z0-9]{36}|pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,400}|rubygems_[a-f0-9]{48}|dckr_pat_[A-Za-z0-9_-]{27,60}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'service-token',
    about:
      'a token of SendGrid, DigitalOcean, Databricks, Vault, Linear, Notion, Atlassian, Telegram or Azure',
    pattern: wordWithDashes(
      'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}|do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|hvs\\.[A-Za-z0-9_-]{24,200}' +
        '|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,60}|ATATT3[A-Za-z0-9_=-]{100,300}|\\d{8,10}:AA[A-Za-z0-9_-]{33}' +
        '|AccountKey=[A-Za-z0-9+/]{86}==',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'jwt',
    about: 'a JSON Web Token, by its decoded header',
    pattern: wordWithDashes('eyJ[A-Za-z0-9_-]{8,4000}\\.eyJ[A-Za-z0-9_-]{4,20000}\\.[A-Za-z0-9_-]{16,2000}'),
    holds: isJwt,
  },
  {
    kind: 'bearer-token',
    about: 'what follows the word Bearer, when it is no placeholder',
    pattern: /\bBearer["'`\s]{1,4}(?<secret>[A-Za-z0-9._~+/-]{20,4000}={0,2})/gi,
    holds: looksRandom,
  },
  {
    kind: 'assigned-key',
    about: 'a value that is given the name of a key, token or secret, when it is no placeholder',
    pattern:
      /(?:api|secret|access|auth|client|refresh|signing|private)[ _-]?(?:access[ _-]?)?(?:key|token|secret)["'`\s]{0,4}(?::=|=>|[:=]|is)["'`\s]{0,4}(?<secret>[A-Za-z0-9_+/-]{20,500}={0,2})(?![\w+/=(-]|\.\w)/gi,
    holds: looksRandom,
  },
  {
    kind: 'card-number',
    about: 'a payment card number: its network, its length, its grouping and its checksum are right',
    pattern:
      /(?<![\w./#+-])(?:\d{14,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5})(?!\w|[-.]\d)/g,
    holds: isCardNumber,
  },
];
