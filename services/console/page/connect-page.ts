import { html, type TemplateResult } from 'lit-html';
import type { Overview } from '../api/shapes.ts';
import type { Context, Page } from './context.ts';
import { copyable } from './parts.ts';

type Client = { readonly name: string; readonly about: string; readonly text: string };

/** Settings to copy, as docs/start/clients.md has them. */
const clientSettings = ({
  clientUrl,
  needsKey,
}: Pick<Overview, 'clientUrl' | 'needsKey'>): readonly Client[] => {
  const key = needsKey ? 'YOUR_KEY' : 'any';
  return [
    {
      name: 'OpenClaw',
      about: 'Writes the provider into the settings of OpenClaw. Without --write it only shows them.',
      text: 'npx clawloop openclaw config --write',
    },
    {
      name: 'OpenAI SDK (Python)',
      about: 'Any OpenAI client works: chat completions and Responses.',
      text: `from openai import OpenAI

client = OpenAI(base_url="${clientUrl}/v1", api_key="${key}")
client.chat.completions.create(model="clawloop", messages=[{"role": "user", "content": "Hello"}])`,
    },
    {
      name: 'Claude Code',
      about: 'Three variables in front of the command.',
      text: `ANTHROPIC_BASE_URL=${clientUrl} ANTHROPIC_AUTH_TOKEN=${key} ANTHROPIC_MODEL=clawloop claude`,
    },
    {
      name: 'Codex',
      about: 'Goes into ~/.codex/config.toml.',
      text: `model = "clawloop"
model_provider = "clawloop"

[model_providers.clawloop]
name = "ClawLoop"
base_url = "${clientUrl}/v1"
wire_api = "responses"${needsKey ? '\nenv_key = "CLAWLOOP_KEY"' : ''}`,
    },
  ];
};

/** Settings for the programs that people use, ready to copy. */
export function connectPage(context: Context): Page {
  return {
    title: 'Connect a client',
    open: () => {},
    changed: () => {},
    view: () => {
      const overview = context.overview();
      return overview === undefined ? html`<p class="quiet">Loading …</p>` : show(context, overview);
    },
  };
}

const show = (context: Context, overview: Overview): TemplateResult => html`
  <p class="lead">Point your program at <code>${overview.clientUrl}</code>, with the model <code>clawloop</code>.
    ${overview.needsKey ? 'Put an access key in place of YOUR_KEY.' : 'On this machine any key works.'}</p>
  ${clientSettings(overview).map(({ name, about, text }) => html`<section><h2>${name}</h2><p>${about}</p>${copyable(context, name, text)}</section>`)}
  <p>Sessions are recognised by their content. More programs are in docs/start/clients.md.</p>
`;
