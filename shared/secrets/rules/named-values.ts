import { isNoFiller, looksRandom } from '../looks-random.ts';
import type { SecretRule } from './secret-rule.ts';

/** characters of context before a value */
const CONTEXT = 48;

const before = (text: string, start: number): string => text.slice(Math.max(0, start - CONTEXT), start);

/** Names of keys and tokens that are not secret. */
const harmless =
  /\b(?:public|primary|foreign|unique|composite|cache|partition|sort|range|hash|shard|idempotency|object|row|lookup|dedup\w{0,10}|dictionary|map|sort|host|message|routing|page|next|cursor|continuation|pagination|resume|sync|csrf|xsrf|stop|pad|special|site|product|registry|i18n|translation|json|yaml|config|query|search|etag|integrity|ssh-\w{2,10})[ _.-]?(?:[a-z]{1,12}[ _.-])?(?:key|token|secret|credential|signature)s?\b/i;

const isOpening = (secret: string, text: string, start: number): boolean =>
  looksRandom(secret) && !harmless.test(before(text, start));

/** Placeholders for passwords in documentation, and references to the place where a password is stored. */
const noPassword =
  /^(?:pass(?:word|wd|phrase|code)?|pwd|secret|string|str|text|varchar|hidden|none|null|nil|undefined|true|false|required|optional|incorrect|wrong|invalid|missing|empty|changeme|change_me|redacted|removed|example|test|foo|bar|x+|\*+|\.+|-+|_+)\W*$|^(?:your|my|the|some|new|old|enter|insert|choose)[-_ ]|^[$<{[(%@]|\$\{|\{\{|process\.|env\b|os\.|getenv|config\.|secrets?\.|vault|placeholder|password>|passwor[dt]|kennwort|^op:\/\/|[_-]here$|^\/|:latest$/i;

const isPassword = (secret: string): boolean => secret.length >= 4 && !noPassword.test(secret);
/** In prose and source code, the word after "password" is rarely a password: require a digit or a symbol. */
const isWrittenPassword = (secret: string): boolean =>
  isPassword(secret) &&
  secret.length >= 5 &&
  /\d|[!@#$%^&*+=?~]/.test(secret.replace(/[.!?:]+$/, '')) &&
  !/[()[\]{}\\]|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$/.test(secret);

const isQuotedPassword = (secret: string): boolean => isPassword(secret) && secret.length >= 6;

/** Values that are secrets because of the word before them. */
export const namedValueRules: readonly SecretRule[] = [
  {
    kind: 'bearer-token',
    about: 'the value after the word Bearer, unless it is a placeholder',
    pattern: /\bBearer["'`\s]{1,4}(?<secret>[A-Za-z0-9._~+/-]{20,4000}={0,2})/gi,
    holds: (secret) => looksRandom(secret) || /^A{10,60}[A-Za-z0-9%=+/-]{50,}$/.test(secret),
  },
  {
    kind: 'basic-auth',
    about: 'the value after `Authorization: Basic`: Base64 of a name and a password',
    pattern: /\bBasic["'`\s]{1,4}(?<secret>[A-Za-z0-9+/]{8,1000}={0,2})(?![\w+/=])/g,
    holds: (secret) =>
      /^[\x20-\x7e]{1,300}:[\x20-\x7e]{3,300}$/.test(Buffer.from(secret, 'base64').toString('latin1')),
  },
  {
    kind: 'assigned-key',
    about: 'a value assigned to the name of a key, token or secret, unless it is a placeholder',
    pattern:
      /(?:api|secret|access|auth|client|refresh|signing|private|session|encryption|master|webhook|bot|app|deploy|license|service|admin|account|consumer|subscription|ingest|write|read|unseal)[ _-]?(?:access[ _-]?)?(?:key|token|secret|salt)(?: \d{1,2})?["'`\s]{0,4}(?::=|=>|[:=]|is|to)["'`\s]{0,4}(?:base64:)?(?<secret>[A-Za-z0-9_+/-]{20,500}={0,2})(?![\w+/=(-]|\.\w)/gi,
    holds: looksRandom,
  },
  {
    kind: 'named-token',
    about: 'a random value beside the word key, token, secret or credential, except public and primary keys',
    pattern:
      /(?:key|token|secret|credential|signature)s?["'`\s]{0,4}(?:(?::=|=>|->|[:=]|is|was|to)["'`\s]{0,4}|["'`\s]{1,4})(?<secret>[A-Za-z0-9_+/~-]{24,500}={0,2})(?![\w+/=(~-]|\.\w)/gi,
    holds: isOpening,
  },
  {
    kind: 'url-password',
    about: 'a password in an address, as in `postgres://name:password@host`',
    pattern: /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@"'<>]{0,100}:(?<secret>[^\s/@"'<>]{3,300})(?=@[\w[.-])/gi,
    holds: isPassword,
  },
  {
    kind: 'url-token',
    about: 'a key, token or signature in the query of an address, unless it is a placeholder',
    pattern:
      /[?&#](?:app_?id|code|access_?key|api_?key|access_?token|auth_?token|id_?token|refresh_?token|token|sig|signature|secret|client_secret|key|auth)=(?<secret>[A-Za-z0-9._~+/=-]{20,1000})/gi,
    holds: looksRandom,
  },
  {
    kind: 'url-token',
    about: 'a key in the path of an address of a node provider (Infura, Alchemy, QuickNode)',
    pattern:
      /\b(?:infura\.io|alchemy\.com|quiknode\.pro|ankr\.com)\/(?:\w{1,12}\/){0,2}(?<secret>[A-Za-z0-9_-]{30,80})(?![\w-])/gi,
    holds: isNoFiller,
  },
  {
    kind: 'header-token',
    about: 'the value of an `Authorization` header, or of a header that names a key or token',
    pattern:
      /\b(?:authorization|(?:x-)?[a-z-]{0,30}(?:api-?key|access-?token|auth-?token))["']?\s{0,3}[:=]\s{0,3}["']?(?:(?!basic\b|bearer\b)[A-Za-z]{2,12} )?(?:token=)?(?<secret>[A-Za-z0-9_+/~-]{18,500}={0,2})(?![\w=(+/-]|\.\w)/gi,
    holds: looksRandom,
  },
  {
    kind: 'assigned-key',
    about:
      'a random value that a program passes to a client, or that a command takes after `login` or `--token`',
    pattern:
      /(?:client|session|api_?key|access_?token|auth|login|token|search)\((?:["'][^"'\n]{0,80}["'],\s{0,3})?["'](?<secret>[A-Za-z0-9_.:/+-]{20,300}={0,2})(?=["'])|(?:--(?:token|api-?key|key|secret|auth-?token)[ =]|\blogin )(?<secret>[A-Za-z0-9_.+/-]{16,300}={0,2})(?![\w=(+/-])/gi,
    holds: looksRandom,
  },
  {
    kind: 'assigned-key',
    about: 'a long quoted value with symbols, named as a key, secret or salt',
    pattern:
      /(?:KEY|SECRET|SALT|TOKEN)["']?\s{0,3}(?:[,:=]|=>)\s{0,12}["'](?<secret>[^"'\s]{24,200})(?=["'])/gi,
    holds: (secret) => /\d/.test(secret) && /[a-z]/i.test(secret) && /[!@#$%^&*()=?[\]{}<>|]/.test(secret),
  },
  {
    kind: 'registry-auth',
    about:
      'the credentials of a registry in `.npmrc` or a Docker configuration: Base64 of a name and a password',
    pattern: /\b_?auth["']?\s{0,3}[:=]\s{0,3}["']?(?<secret>[A-Za-z0-9+/]{8,1000}={0,2})(?![\w+/=])/g,
    holds: (secret) =>
      /^[\x20-\x7e]{1,300}:[\x20-\x7e]{3,300}$/.test(Buffer.from(secret, 'base64').toString('latin1')),
  },
  {
    kind: 'cluster-token',
    about: 'a token for joining a Kubernetes cluster',
    pattern: /--token[ =](?<secret>[a-z0-9]{6}\.[a-z0-9]{16})(?!\w)/g,
    holds: isNoFiller,
  },
  {
    kind: 'otp-secret',
    about: 'the shared secret of one-time codes, as in `otpauth://` links and set-up pages',
    pattern:
      /otpauth(?:-migration)?:\/\/[^\s"'<>]{1,500}?(?:secret|data)=(?<secret>[A-Za-z0-9+/=]{16,500})|\b(?:totp|2fa|mfa|otp|authenticator)\b[^\n:=]{0,40}(?:secret|seed|key|code)[^\n:=]{0,20}(?:[:=]|is)["'`\s]{0,4}(?<secret>[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15})/gi,
    holds: (secret) => secret.length >= 16,
  },
  {
    kind: 'recovery-code',
    about: 'a recovery or backup code of an account',
    pattern:
      /(?:recovery|backup|emergency|scratch|one-time|2fa)[ -](?:code|key)s?\b[^A-Za-z0-9]{0,12}(?:(?:are|is)[^A-Za-z0-9]{0,6})?(?<secret>[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){1,7}|\d{8}|\d{4} \d{4}|[a-z0-9]{10})(?![\w-])/gi,
    holds: (secret) => /\d/.test(secret),
  },
  {
    kind: 'password',
    about: 'a password, passphrase or PIN after its name, unless it is a placeholder',
    pattern:
      /(?:pass(?:word|wd|phrase|code)|passwd|passwort|kennwort|passphrase|contrase(?:ñ|n\u0303?)a|clave de acceso|mot de passe|senha|wachtwoord|parola d.ordine|пароль|密码|パスワード|pwd|\bpw)s?(?: [A-Za-zÀ-ÿ' ]{1,40}?)?["'`*_]{0,3}\s{0,3}(?:(?::=|=>|->|[:=：→])|(?<=\s)(?:is|was|to|are|lautet|ist|es|est|é|è|och|is:)(?=\s)|(?<=password|passwort) (?=['"]))[\s:]{0,3}(?:« ?(?<secret>[^»\n]{4,200}?)(?= ?»)|["`](?![,;)\s])(?<secret>[^"`\n]{6,200})(?=["`])|["'`*_]{0,3}(?<secret>[^\s"'`,;<>]{4,200}))/gi,
    holds: (secret, text, start) =>
      /["'`]/.test(text[start - 1] ?? '') ? isQuotedPassword(secret) : isWrittenPassword(secret),
  },
  {
    kind: 'password',
    about: 'a password in an environment variable, a command or a file of credentials',
    pattern:
      /(?:\b[A-Z0-9_]{0,40}(?:PASS|PASSWORD|PASSWD|PWD|PASSPHRASE)=["']?(?<secret>[^\s"'`,;]{4,200})|--?(?:password|passwd|pass|pw)[= ]["']?(?<secret>[^\s"'`,;-][^\s"'`,;]{3,200})|\bsshpass -p ?["']?(?<secret>[^\s"'`]{4,200})|\bmysql(?:dump|admin)?\b[^\n]{0,120}?\s-p(?<secret>[^\s"'`-][^\s"'`]{3,100})|\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?["']?[^\s:"'`]{1,100}:(?<secret>[^\s"'`]{4,200})|\b(?:machine\s+\S{1,200}\s+)?login\s+\S{1,200}\s+password\s+(?<secret>\S{4,200})|_password=(?<secret>[A-Za-z0-9+/]{8,200}={0,2}))/g,
    holds: isPassword,
  },
  {
    kind: 'password',
    about: 'a literal password in a program, a query or a configuration file',
    pattern:
      /(?:\bPassword=(?<secret>[^;"'\s]{4,200})(?=[;"'])|\bdefine\(\s?['"]\w{0,30}PASSWORD['"],\s?['"](?<secret>[^'"\n]{4,200})(?=['"])|\b\w{0,30}PASSWORD: &?(?:'static )?str = "(?<secret>[^"\n]{4,200})(?=")|\bConvertTo-SecureString (?:-String )?["'](?<secret>[^"'\n]{4,200})(?=["'])|\b(?:NetworkCredential|getConnection|PDO|createUser|authenticate|login)\([^()\n]{0,200}["'][\w@.-]{1,60}["'],\s?["'](?<secret>[^"'\n]{6,200})(?=["']\s?[),])|<password>(?<secret>[^<\s]{4,200})(?=<)|\brequirepass (?<secret>\S{4,200})|\b(?:psk|wpa_passphrase)=["'](?<secret>[^"'\n]{8,63})(?=["'])|\becho ["'][a-z_][\w-]{0,31}:(?<secret>[^"'\n]{4,200})(?=["'] ?\|[^\n]{0,20}chpasswd)|^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w-]{1,60}:(?<secret>\S{4,200})$|\bmysql\b[^\n]{0,120}?\s-p'(?<secret>[^'\n]{4,100})(?=')|\bjdbc:oracle:thin:[^\s/]{1,60}\/(?<secret>[^\s@"']{4,200})(?=@))/gim,
    holds: isPassword,
  },
  {
    kind: 'password',
    about: 'an application password of Google or Apple beside its name',
    pattern:
      /(?:app(?:lication)?(?:-specific)? password|app-passwort)[^\n]{0,30}?(?<![\w-])(?<secret>[a-z]{4}(?:([ -])[a-z]{4})(?:\2[a-z]{4}){2})(?![\w-])/gi,
    holds: isNoFiller,
  },
  {
    kind: 'password',
    about: 'a password after the German "Schlüssel" of a network, or beside a login name',
    pattern:
      /(?:wlan|wi-?fi|network|netzwerk)[^\n]{0,60}?(?:key|schlüssel|passwor[dt])\b[^\n"'„«]{0,12}["'„«](?<secret>[^"'“”»\n]{8,63})(?=["'“”»])/gi,
    holds: isPassword,
  },
  {
    kind: 'password',
    about: 'the PIN of a card, a phone or a door',
    pattern:
      /\bpin(?: code| number|-code)?["'`*]{0,2}(?: [^\n\d.,;:=]{1,30}?)?\s{0,2}(?:[:=]|(?<=\s)(?:is|ist|es|est|lautet|è)\b)\s{0,2}["'`*]{0,2}(?<secret>\d{4,8})(?!\w|[.-]\d)/gi,
    holds: () => true,
  },
  {
    kind: 'password-hash',
    about: 'the hash of a password, as systems and web servers store it (crypt, bcrypt, Argon2, NTLM)',
    pattern:
      /\$2[abxy]\$\d{2}\$[./A-Za-z0-9]{53}|\$[156]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86}|\$argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,9},t=\d{1,4},p=\d{1,3}\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,200}|\$y\$[./A-Za-z0-9]{1,10}\$[./A-Za-z0-9]{1,40}\$[./A-Za-z0-9]{43}|\$apr1\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}|\b[0-9a-f]{32}:[0-9a-f]{32}:::/g,
    holds: () => true,
  },
  {
    kind: 'cookie',
    about: 'the session in a Cookie header',
    pattern:
      /\bCookie:[^\n]{0,300}?(?:sess|sid|auth|token|jwt)[\w.-]{0,30}=(?<secret>[A-Za-z0-9%._~+/=-]{16,2000})/gi,
    holds: looksRandom,
  },
];
