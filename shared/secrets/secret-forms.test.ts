import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { findSecrets, withoutSecrets } from './find-secrets.ts';

// Every value is derived from a fixed digest. Prefix and body are separate, so that secret scanners do not report
// this file as a leak.
const digest = (name: string) => createHash('sha512').update(name).digest();
const letters = (name: string, alphabet: string, length: number): string => {
  let drawn = '';
  for (let block = 0; drawn.length < length; block++)
    for (const byte of digest(`${name} ${block}`)) drawn += alphabet[byte % alphabet.length];
  return drawn.slice(0, length);
};
const hex = (length: number) => letters('hex', '0123456789abcdef', length);
const low = (length: number) => letters('low', 'abcdefghijklmnopqrstuvwxyz0123456789', length);
const mixed = (length: number) =>
  letters('mixed', 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789', length);
const upper = (length: number) => letters('upper', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', length);
const base32 = (length: number) => letters('base32', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', length);
const uuid = `${hex(8)}-4d1c-4f2a-9b3e-${hex(12)}`;
const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64');
const pkcs8 = base64(
  Buffer.concat([Buffer.from('308204be020100300d06092a864886f70d0101010500', 'hex'), digest('der')]),
);
const openssh = `b3BlbnNzaC1rZXktdjEA${base64(digest('ssh')).slice(0, 60)}`;
const github = `gh${'p_'}${mixed(36)}`;
const pem = `-----BEGIN ${'PRIVATE'} KEY-----\n${base64(digest('pem'))}\n-----END ${'PRIVATE'} KEY-----\n`;
const wif = base58Check(Buffer.concat([Buffer.from([0x80]), digest('wif').subarray(0, 32)]));
const extended = `xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3${'TGtRBeJgk33yuGBxrMPHi'}`;

function base58Check(body: Uint8Array): string {
  const sha256 = (of: Uint8Array) => createHash('sha256').update(of).digest();
  const bytes = Buffer.concat([body, sha256(sha256(body)).subarray(0, 4)]);
  let text = '';
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= 58n)
    text = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'[Number(rest % 58n)] + text;
  return text;
}

/** Texts that contain a secret, with the part that must be removed. */
const forms: Readonly<Record<string, readonly [text: string, secret: string]>> = {
  'a session key of ClawLoop': [`sk-${'sess-'}${mixed(90)}`, mixed(90)],
  'a PostgreSQL address': ['postgres://app:s3cr3tPazz@db.internal:5432/app', 's3cr3tPazz'],
  'a MongoDB address': ['mongodb+srv://root:Tr0ub4dor@cluster0.mongodb.net/?w=1', 'Tr0ub4dor'],
  'a Redis address without a name': ['redis://:fL4mingo77@cache:6379/0', 'fL4mingo77'],
  'an AMQP address': ['amqp://worker:Zebra-9911@mq:5672', 'Zebra-9911'],
  'a token in the address of a repository': [`https://x-access-token:${mixed(36)}@github.com/a/b`, mixed(36)],
  'basic authentication': [`Authorization: Basic ${base64('anna:Gr8-horse!')}`, base64('anna:Gr8-horse!')],
  'curl -u': ['curl -s -u anna:Gr8-horse! https://host.example/x', 'Gr8-horse!'],
  'a password of a database in the environment': ['DB_PASSWORD=plum8Tree9', 'plum8Tree9'],
  'a password of PostgreSQL in the environment': ['export PGPASSWORD=plum8Tree9', 'plum8Tree9'],
  'a password in source text': ['const password = "plum8Tree9";', 'plum8Tree9'],
  'a password in JSON': ['{"user": "anna", "password": "plum8Tree9"}', 'plum8Tree9'],
  'a password in YAML': ['password: plum8Tree9', 'plum8Tree9'],
  'a password in prose': ['the password is plum8Tree9-2024', 'plum8Tree9-2024'],
  'a passphrase in prose': ['My passphrase is "correct horse battery 9"', 'correct horse battery 9'],
  'a password on a command line': ['mysqldump --password=plum8Tree9 shop', 'plum8Tree9'],
  'a password of sshpass': ["sshpass -p 'plum8Tree9' ssh host", 'plum8Tree9'],
  'a line of .netrc': ['machine api.host.example login anna password plum8Tree9', 'plum8Tree9'],
  'a PIN': ['My PIN is 4711.', '4711'],
  'a session token of AWS': [`AWS_SESSION_TOKEN=${base64(digest('aws'))}`, base64(digest('aws'))],
  'a client secret of Entra': [`a1B8Q~${mixed(34)}`, `a1B8Q~${mixed(34)}`],
  'a key of a storage account': [
    `AccountKey=${base64(digest('azure'))};`,
    base64(digest('azure')).slice(0, 86),
  ],
  'a signature of Azure': [
    `https://a.blob.core.windows.net/c?sv=2024&sig=${encodeURIComponent(base64(digest('sas').subarray(0, 32)))}`,
    base64(digest('sas').subarray(0, 32)).slice(0, 8),
  ],
  'a bot token of Discord': [`MT${mixed(24)}.G${mixed(5)}.${mixed(38)}`, mixed(38)],
  'a webhook of Discord': [`https://discord.com/api/webhooks/112233445566778899/${mixed(68)}`, mixed(68)],
  'a key of Twilio': [`SK${hex(32)}`, hex(32)],
  'an auth token of Twilio': [`TWILIO_AUTH_TOKEN=${hex(32)}`, hex(32)],
  'a key of Mailgun': [`key-${hex(32)}`, hex(32)],
  'a key of Mailchimp': [`${hex(32)}-us12`, hex(32)],
  'an access token of Square': [`EAAA${mixed(60)}`, mixed(60)],
  'a key of NVIDIA': [`nv${'api-'}${mixed(64)}`, mixed(64)],
  'a key of Cerebras': [`cs${'k-'}${low(48)}`, low(48)],
  'a key of Together': [`Use the Together key ${hex(64)}`, hex(64)],
  'a key of Fireworks': [`fw_${mixed(24)}`, mixed(24)],
  'a key of Mistral': [`MISTRAL_API_KEY=${mixed(32)}`, mixed(32)],
  'a key of Mistral in prose': [`my Mistral key is ${mixed(32)}`, mixed(32)],
  'a token of Notion': [`secret_${mixed(43)}`, mixed(43)],
  'a token of Figma': [`fig${'d_'}${mixed(40)}`, mixed(40)],
  'a token of Grafana': [`gl${'sa_'}${mixed(32)}_${hex(8)}`, mixed(32)],
  'a key of New Relic': [`NR${'AK-'}${upper(27)}`, upper(27)],
  'a token of Sentry': [`sntr${'ys_'}${mixed(90)}`, mixed(90)],
  'a key of PostHog': [`ph${'c_'}${mixed(43)}`, mixed(43)],
  'a token of Supabase': [`sb${'p_'}${hex(40)}`, hex(40)],
  'a token of PlanetScale': [`pscale${'_tkn_'}${mixed(43)}`, mixed(43)],
  'a token of Airtable': [`pat${mixed(14)}.${hex(64)}`, hex(64)],
  'a token of Pulumi': [`pu${'l-'}${hex(40)}`, hex(40)],
  'a token of Vercel': [`VERCEL_TOKEN=${mixed(24)}`, mixed(24)],
  'a key of Tailscale': [`tskey${'-auth-'}k${mixed(11)}CNTRL-${mixed(32)}`, mixed(32)],
  'a service account of 1Password': [`ops_${'eyJ'}${mixed(250)}`, mixed(250)],
  'a secret key of 1Password': [`A3-${upper(6)}-${upper(11)}-${upper(5)}-${upper(5)}-${upper(5)}`, upper(11)],
  'a token of Doppler': [`dp${'.pt.'}${mixed(43)}`, mixed(43)],
  'a key of Postman': [`PMA${'K-'}${hex(24)}-${hex(34)}`, hex(34)],
  'a token of Terraform': [`${mixed(14)}.atlasv${'1.'}${mixed(67)}`, mixed(67)],
  'a private key of a wallet': [`0x${hex(64)}`, hex(64)],
  'a private key of Bitcoin': [wif, wif],
  'an extended private key': [extended, extended],
  'a seed phrase': [
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    'sausage worth useful',
  ],
  'a numbered seed phrase': [
    '1. zebra 2. ocean 3. river 4. apple 5. chair 6. stone 7. cloud 8. tiger 9. piano 10. lemon 11. medal 12. wagon',
    'piano',
  ],
  'one-time codes': [`otpauth://totp/Shop:anna?secret=${base32(32)}&issuer=Shop`, base32(32)],
  'recovery codes': [`recovery codes: ${low(5)}-7${low(4)}`, `${low(5)}-7${low(4)}`],
  'the key of a kubeconfig': [`client-key-data: ${base64(pem)}`, base64(pem).slice(0, 60)],
  'the body of a private key': [`MII${pkcs8.slice(3)}`, pkcs8.slice(3, 60)],
  'the body of an OpenSSH key': [openssh, openssh],
  'a token in Base64': [base64(`token=${github}`), base64(`token=${github}`)],
  'a percent-encoded token': [
    `https://host.example/?next=${encodeURIComponent(`x ${github}`).replaceAll('_', '%5F')}`,
    mixed(36),
  ],
  'a token that zero-width spaces split': [
    github.replace('_', '_\u200b').replace(mixed(36), `${mixed(18)}\u200b${mixed(36).slice(18)}`),
    mixed(18),
  ],
  'a token with the escapes of Markdown': [github.replaceAll('_', '\\_'), mixed(36)],
  'an international bank account number': ['DE89 3704 0044 0532 0130 00', '0532 0130'],
  'a social security number': ['219-09-9999', '219-09-9999'],
  'a card number with dots': ['4111.1111.1111.1111', '1111.1111'],
  'a key of OpenAI': [`sk-${'proj-'}${mixed(80)}`, mixed(80)],
  'a key of DeepSeek': [`sk-${hex(32)}`, hex(32)],
  'a key of ElevenLabs': [`sk_${hex(48)}`, hex(48)],
  'a key of LangSmith': [`lsv2${'_pt_'}${hex(32)}_${hex(10)}`, hex(32)],
  'a key of Pinecone': [`pcs${'k_'}${mixed(60)}`, mixed(60)],
  'a key of Resend': [`re_${mixed(8)}_${mixed(24)}`, mixed(24)],
  'a key of Brevo': [`xkey${'sib-'}${hex(64)}-${mixed(16)}`, hex(64)],
  'a token of Netlify': [`nf${'p_'}${mixed(40)}`, mixed(40)],
  'a token of Fly.io': [`fm${'2_'}${mixed(120)}`, mixed(120)],
  'a token of HubSpot': [`pat-${'na1-'}${uuid}`, uuid],
  'a key of Heroku': [`HEROKU_API_KEY=${uuid}`, uuid],
  'a token of OpenShift': [`sha256${'~'}${mixed(43)}`, mixed(43)],
  'a refresh token of Google': [`1//0${mixed(60)}`, mixed(60)],
  'a token of Databricks': [`da${'pi'}${hex(32)}`, hex(32)],
  'a key of Datadog': [`DD_API_KEY: ${hex(32)}`, hex(32)],
  'a hash of bcrypt': [`$2b$12$${mixed(53)}`, mixed(53)],
  'a line of /etc/shadow': [`root:$6$${mixed(8)}$${mixed(86)}:19000:`, mixed(86)],
  'a private key of WireGuard': [
    `PrivateKey = ${base64(digest('wg').subarray(0, 32))}`,
    base64(digest('wg').subarray(0, 32)),
  ],
  'a cookie': [`Cookie: theme=dark; sessionid=${low(32)}`, low(32)],
  'a signed address of S3': [`https://b.s3.amazonaws.com/k?X-Amz-Signature=${hex(64)}`, hex(64)],
  'a password in German': ['Das Passwort lautet Birke!plum88', 'Birke!plum88'],
  'a password in Spanish': ['La contraseña del servidor: Roble#77luz', 'Roble#77luz'],
  'a password in French': ['Le mot de passe du compte est « Chêne?99bois ».', 'Chêne?99bois'],
  'a password of a connection string': [
    'Server=sql01;User Id=sa;Password=QuietRiverStone;Trust=True',
    'QuietRiverStone',
  ],
  'a password of WordPress': ["define( 'DB_PASSWORD', 'plum*Tree9stone' );", 'plum*Tree9stone'],
  'a password in SQL': ["CREATE USER a WITH PASSWORD 'plum+Tree9';", 'plum+Tree9'],
  'a password in Java': ['DriverManager.getConnection(url, "app", "plum?Tree9");', 'plum?Tree9'],
  'a password in XML': ['<server><password>plum+Tree9</password></server>', 'plum+Tree9'],
  'a password of Redis': ['requirepass plum#Tree9', 'plum#Tree9'],
  'a line of .pgpass': ['\ndb.example.org:5432:shop:anna:plum$Tree9', 'plum$Tree9'],
  'a percent-encoded password': ['postgresql://app:p%40ss%2Fplum9@db01:5432/app', 'p%40ss%2Fplum9'],
  'a login of Docker': [`{"auths":{"x":{"auth":"${base64('anna:plum9Tree')}"}}}`, base64('anna:plum9Tree')],
  'a token of a constructor': [`co = cohere.Client("${mixed(40)}")`, mixed(40)],
  'a token in a header': [`Authorization: SSWS 00${mixed(40)}`, mixed(40)],
  'a key of a node provider': [`https://mainnet.infura.io/v3/${hex(32)}`, hex(32)],
  'a seed phrase in Spanish': [
    'ábaco abdomen abeja abierto abogado abono aborto abrazo abrir abuelo abuso acabar',
    'abogado abono',
  ],
  'a token in two literals': [
    `const t = "gh${'p_'}${mixed(10)}" + "${mixed(36).slice(10)}";`,
    mixed(36).slice(12),
  ],
  'a token in HTML': [`<code>gh${'p'}&#95;${mixed(36)}</code>`, mixed(36)],
  'a token in full-width letters': [
    [...github].map((letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)).join(''),
    'ｇｈｐ',
  ],
  'a token in hexadecimal': [Buffer.from(github).toString('hex'), Buffer.from(github).toString('hex')],
  'a webhook of Zapier': [`https://hooks.zapier.com/hooks/catch/1234567/${low(7)}1/`, low(7)],
};

describe.each(Object.entries(forms))('%s', (_, [text, secret]) => {
  test.each([
    ['alone', text],
    ['in a sentence', `Sure! Use this: ${text}\nand tell nobody.`],
    ['in a code block', `\`\`\`\n${text}\n\`\`\``],
  ])('%s', (_, around) => {
    expect(findSecrets(around).length).toBeGreaterThan(0);
    expect(withoutSecrets(around)).not.toContain(secret);
  });
});

test.each([
  'The password is required and must be at least 8 characters long.',
  'Your password is incorrect. Try again or reset it.',
  'password: string; // hashed',
  'self.password = config.get_password(user)',
  'Set DB_PASSWORD=$DB_PASSWORD in your .env file, or DB_PASSWORD=<your password>.',
  'postgres://user:password@localhost:5432/db is the form; postgres://$USER:$PASS@host works too.',
  'curl -u user:$TOKEN https://host.example',
  'Use --password=PASSWORD on the command line.',
  'The public key is AAAAC3NzaC1lZDI1NTE5AAAAIGabc123def456ghi789',
  'the cache key is 3f2504e04f8941d39a0c0305e82c3301',
  'The transaction 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 is in block 46147.',
  'transaction hash: 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  'A long long long long long long long long long long long long long road.',
  'Call 555-12-3456789 or write to room 12-34-5678.',
  'GB29 NWBK 6016 1331 9268 18 is no valid account number.',
  'Recovery codes are shown once; print them.',
  'Put salt, onion, pepper, garlic, bread, butter and cheese on the list.',
  'Basic understanding of authentication helps.',
  'pinning is good; my pin board has 1234567890 pins',
])('nothing in: %s', (text) => {
  expect(findSecrets(text)).toEqual([]);
});

test('positions refer to the original text', () => {
  const text = `a\u200b%41\\_ ${github.replace('_', '\\_')} and ${github}.`;
  const [first, second] = findSecrets(text);
  expect(text.slice(first!.start, first!.end)).toBe(github.replace('_', '\\_'));
  expect(text.slice(second!.start, second!.end)).toBe(github);
});
