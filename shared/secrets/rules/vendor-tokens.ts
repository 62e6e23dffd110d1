import { isJwt, isNoFiller } from '../looks-random.ts';
import { type SecretRule, word, wordWithDashes } from './secret-rule.ts';

const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';

const hasDigit = (secret: string): boolean => /\d/.test(secret) && isNoFiller(secret);

/** Tokens with a vendor's prefix and length. */
export const vendorTokenRules: readonly SecretRule[] = [
  {
    kind: 'github-token',
    about: 'a token of GitHub (ghp_, gho_, ghu_, ghs_, ghr_, github_pat_)',
    pattern: word('gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
    holds: isNoFiller,
  },
  {
    kind: 'gitlab-token',
    about: 'a token of GitLab (glpat- and the like)',
    pattern: wordWithDashes(
      'gl(?:pat|dt|ptt|rt|rtr|soat|cbt|ft|imt|agent|oas|ffct|wt)-[A-Za-z0-9_.-]{20,300}|GR1348941[A-Za-z0-9_-]{20}',
    ),
    holds: (secret) => /\d|[a-z][A-Z]/.test(secret) && isNoFiller(secret),
  },
  {
    kind: 'clawloop-key',
    about: 'an access key or a session key of ClawLoop',
    pattern: wordWithDashes('claw-[A-Za-z0-9_-]{32}|sk-sess-[A-Za-z0-9_-]{56,1000}'),
    holds: (secret) => /[A-Z]/.test(secret) && hasDigit(secret),
  },
  {
    kind: 'model-key',
    about:
      'a key of a model host: OpenAI, Anthropic, OpenRouter, Hugging Face, Groq, xAI, Perplexity, Replicate, NVIDIA, Cerebras, Together, Fireworks, ElevenLabs, Langfuse, LangSmith, Pinecone, Tavily, Jina, Voyage, RunPod, E2B, Vercel AI, Weights & Biases',
    pattern: wordWithDashes(
      'sk-(?:proj|svcacct|admin|ant|lf|None)-[A-Za-z0-9_-]{30,300}|sk-or-v1-[0-9a-f]{64}|sk-[A-Za-z0-9]{32,64}' +
        '|hf_[A-Za-z0-9]{34,40}|api_org_[A-Za-z0-9]{34}|gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{80}|pplx-[A-Za-z0-9]{48,64}|r8_[A-Za-z0-9]{37}' +
        '|nvapi-[A-Za-z0-9_-]{60,80}|csk-[A-Za-z0-9]{40,60}|tgp_v1_[A-Za-z0-9_-]{40,60}|fw_[A-Za-z0-9]{20,40}|sk_[0-9a-f]{48}' +
        '|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|pcsk_[A-Za-z0-9_]{50,90}|tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,60}|jina_[A-Za-z0-9_-]{50,80}' +
        '|pa-[A-Za-z0-9_-]{43}|rpa_[A-Z0-9]{40,60}|e2b_[0-9a-f]{40}|vck_[A-Za-z0-9]{40,80}|fc-[0-9a-f]{32}|wandb_v1_[A-Za-z0-9_]{60,90}' +
        '|sgp_[A-Za-z0-9_]{40,80}|crsr_[0-9a-f]{60,70}',
    ),
    holds: (secret) => (/\d/.test(secret) || secret.startsWith('hf_')) && isNoFiller(secret),
  },
  {
    kind: 'google-key',
    about:
      'a key, client secret, access or refresh token of Google (AIza, GOCSPX-, ya29., 1//), or a server key of Firebase',
    pattern: wordWithDashes(
      'AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\\.[A-Za-z0-9_-]{40,400}|1//0[A-Za-z0-9_-]{40,200}' +
        '|AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}|AQ\\.Ab8[A-Za-z0-9_-]{40,80}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'azure-key',
    about:
      'a client secret of Entra, a key of a storage account or of another service, or a DevOps token of Azure',
    pattern:
      /(?<![\w~.-])(?:[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{52}JQQJ99[A-Za-z0-9+/]{20,40}|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{6}==)(?![\w~])|(?:AccountKey|SharedAccessKey|SharedSecret|AccessKey)=(?<secret>[A-Za-z0-9+/]{42,86}={0,2})/g,
    holds: isNoFiller,
  },
  {
    kind: 'slack-token',
    about: 'a token or webhook of Slack (xoxb-, xoxp-, xapp-, hooks.slack.com)',
    pattern:
      /(?<![\w-])(?:xox[abeoprscd]-[A-Za-z0-9%-]{20,400}|xoxe\.xox[bp]-\d-[A-Za-z0-9]{100,400}|xapp-\d-[A-Za-z0-9-]{20,300})(?![\w-])|\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Z0-9]{6,14}\/[A-Z0-9]{6,14}\/[A-Za-z0-9/]{20,80}/g,
    holds: hasDigit,
  },
  {
    kind: 'service-token',
    about: 'a token or webhook of Discord, Telegram, Microsoft Teams, Twitch, Facebook or X',
    pattern:
      /(?<![\w.-])(?:(?:bot)?\d{8,10}:A[A-Za-z0-9_-]{34}|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|EAA[A-Za-z0-9]{80,400}|A{10,60}[A-Za-z0-9%=+/-]{50,140})(?![\w-])|\bdiscord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{17,20}\/[\w-]{60,80}|\b[a-z0-9-]{1,60}\.webhook\.office\.com\/webhookb2\/[\w@/-]{80,200}/g,
    holds: (secret) => /\d/.test(secret),
  },
  {
    kind: 'payment-key',
    about:
      'a secret key of Stripe, Square, Shopify, PayPal (Braintree), Plaid, Adyen, Lob, EasyPost, Shippo or Flutterwave',
    pattern: wordWithDashes(
      '[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{32,64}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,60}|EAAA[A-Za-z0-9_-]{56,70}' +
        `|shp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{32}|access_token\\$(?:production|sandbox)\\$[0-9a-z]{16}\\$[0-9a-f]{32}|access-(?:sandbox|development|production)-${UUID}` +
        '|AQE[A-Za-z0-9]{3,8}[A-Za-z0-9+/=-]{80,300}|(?:live|test)_[0-9a-zA-Z]{30,35}|EZ[AT]K[A-Za-z0-9]{54}|shippo_(?:live|test)_[0-9a-f]{40}|FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,70}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'package-token',
    about: 'a token of npm, PyPI, RubyGems, NuGet, crates.io, Clojars, Docker Hub or JFrog',
    pattern: wordWithDashes(
      'npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{50,400}|rubygems_[a-f0-9]{48}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,60}|oy2[a-z0-9]{43}' +
        '|cio[A-Za-z0-9]{32}|CLOJARS_[a-z0-9]{60}|AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'service-token',
    about: 'a key of SendGrid, Mailgun, Mailchimp, Brevo, Resend, Postmark or Twilio',
    pattern: wordWithDashes(
      'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}|key-[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}|[0-9a-f]{32}-us\\d{1,2}|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}' +
        '|xsmtpsib-[0-9a-f]{64}-[A-Za-z0-9]{16}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}|SK[0-9a-f]{32}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'service-token',
    about:
      'a token of a cloud or developer service: DigitalOcean, Databricks, Vault, Terraform, Pulumi, Doppler, 1Password, Linear, Notion, Atlassian, Figma, Grafana, New Relic, Sentry, PostHog, Dynatrace, Supabase, PlanetScale, Neon, Airtable, Postman, Tailscale, Vercel, Netlify, Fly.io, Heroku, HubSpot, LaunchDarkly, OpenShift, Buildkite, Prefect, Typeform, Mapbox, Contentful, Duffel, ReadMe, Adafruit, Alibaba, Yandex and others',
    pattern: wordWithDashes(
      'do[oprt]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}(?:-\\d)?|dose[a-f0-9]{32}|hv[sbr]\\.[A-Za-z0-9_-]{24,300}|[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,80}' +
        '|pul-[a-f0-9]{40}|dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}|ops_eyJ[A-Za-z0-9+/_-]{200,2000}={0,2}|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}' +
        '|lin_(?:api|oauth)_[A-Za-z0-9]{40,64}|(?:ntn|secret)_[A-Za-z0-9]{40,60}|AT(?:ATT|CTT|OTT)3[A-Za-z0-9_=-]{100,300}|ATBB[A-Za-z0-9]{32}' +
        '|fig[dou]_?[A-Za-z0-9_-]{40,60}|gl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_[A-Za-z0-9+/]{32,400}={0,2})|NRAK-[A-Z0-9]{27}|NRI[IQ]-[A-Za-z0-9_-]{32}|NRJS-[a-f0-9]{19}|[0-9a-f]{36}NRAL' +
        '|sntry[su]_[A-Za-z0-9+/=_-]{60,300}|ph[cxsr]_[A-Za-z0-9]{32,60}|dt0[a-z]\\d{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}|sb[pt]_(?:oauth_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60}' +
        '|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}|napi_[a-z0-9]{40,80}|pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}' +
        '|tskey-[a-z]{2,10}-[A-Za-z0-9]{8,20}(?:CNTRL)?(?:-[A-Za-z0-9]{20,60})?|vc[piakr]_[A-Za-z0-9]{24,80}|nf[pcuob]_[A-Za-z0-9]{36,60}|fm[12][ar]?_[A-Za-z0-9+/=_-]{60,2000}|fo1_[A-Za-z0-9_-]{43}' +
        `|HRKU-(?:${UUID}|[A-Za-z0-9_-]{50,70})|pat-(?:na|eu)\\d-${UUID}|(?:sdk|mob|api|rel)-${UUID}|sha256~[A-Za-z0-9_-]{43}|bk[ua]a_[a-z0-9]{40}|bkua_[a-z0-9]{40}|pnu_[A-Za-z0-9]{36}` +
        '|tfp_[A-Za-z0-9._=-]{50,70}|[ps]k\\.eyJ[A-Za-z0-9_-]{40,200}\\.[A-Za-z0-9_-]{20,40}|CFPAT-[A-Za-z0-9_-]{43}|duffel_(?:test|live)_[A-Za-z0-9_=-]{43}|rdme_[a-z0-9]{70}' +
        '|aio_[A-Za-z0-9]{28}|LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{32}|t1\\.[A-Z0-9a-z_-]{20,400}[=]{0,2}\\.[A-Za-z0-9_-]{86}|AQVN[A-Za-z0-9_-]{35,38}|API-[A-Z0-9]{26}|ico-[A-Za-z0-9]{32}' +
        '|p8e-[A-Za-z0-9]{32}|b_[A-Za-z0-9=_-]{44}|rnd_[A-Za-z0-9]{28,40}|sm_aat_[A-Za-z0-9]{16,40}|tk-us-[A-Za-z0-9_-]{48}|fio-u-[A-Za-z0-9_=-]{64}|v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}' +
        '|cloudinary://\\d{10,20}:[A-Za-z0-9_-]{20,40}@[a-z0-9-]{1,60}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|hca[a-z]{2}_[a-z0-9]{58}|GOOG1[A-Z0-9]{50,60}|DO[08]0[A-Z0-9]{16,18}|\\d/\\d{12,20}(?:/\\d{12,20})?:[0-9a-f]{32}|pk_\\d{6,9}_[A-Z0-9]{32}|WPL_AP\\d\\.[A-Za-z0-9_.=-]{16,60}|EwB[A-Za-z0-9+/]{80,2000}={0,2}|sl\\.(?:u\\.)?[A-Za-z0-9_-]{120,1400}|MLY\\|\\d{10,20}\\|[0-9a-f]{32}',
    ),
    holds: hasDigit,
  },
  {
    kind: 'incoming-webhook',
    about: 'a webhook of Zapier, Make, IFTTT or Google Chat: anyone with the address can post',
    pattern:
      /\bhooks\.zapier\.com\/hooks\/catch\/\d{4,12}\/[A-Za-z0-9]{5,20}|\bhook\.(?:[a-z]{2}\d\.)?make\.com\/[A-Za-z0-9]{20,60}|\bmaker\.ifttt\.com\/trigger\/[\w-]{1,60}\/(?:json\/)?with\/key\/[A-Za-z0-9_-]{20,60}|\bchat\.googleapis\.com\/v1\/spaces\/[\w-]{5,40}\/messages\?key=[\w%-]{20,100}(?:&token=[\w%-]{20,100})?/g,
    holds: hasDigit,
  },
  {
    kind: 'jwt',
    about: 'a JSON Web Token, by its decoded header',
    pattern: wordWithDashes('eyJ[A-Za-z0-9_-]{8,4000}\\.eyJ[A-Za-z0-9_-]{4,20000}\\.[A-Za-z0-9_-]{16,2000}'),
    holds: isJwt,
  },
];
