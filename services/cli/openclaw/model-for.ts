import { REAL_WORK } from '../real-work.ts';
import type { ServedModel } from './ask-server.ts';
import { LEAST_CONTEXT, type OpenClawModel, WINDOW_CONTEXT } from './settings.ts';

/** tokens of the longest answer in the OpenClaw settings */
const MOST_ANSWER = 8_192;
/** tokens; OpenClaw's own assumption for local models, used when the server does not report its context */
const UNKNOWN_CONTEXT = 32_768;

/** OpenClaw settings for a served model; `notes`: remarks for the operator. */
export function modelFor(
  { id, contextTokens, mode, systemBudget }: ServedModel,
  baseUrl: string,
  key: string | undefined,
): { readonly model: OpenClawModel; readonly notes: readonly string[] } {
  const reads = contextTokens ?? UNKNOWN_CONTEXT;
  const contextWindow = mode === 'window' ? Math.max(WINDOW_CONTEXT, reads) : reads;
  const maxTokens = Math.min(MOST_ANSWER, Math.floor(reads / 4));
  const notes = [...contextNotes(id, contextTokens, mode), ...demoNotes(id, systemBudget)];
  return { model: { baseUrl, apiKey: key ?? 'local', id, contextWindow, maxTokens }, notes };
}

function contextNotes(
  id: string,
  contextTokens: number | undefined,
  mode: ServedModel['mode'],
): readonly string[] {
  if (contextTokens === undefined)
    return [`The server does not report its context length; assuming ${UNKNOWN_CONTEXT} tokens.`];
  return mode === 'error' && contextTokens < LEAST_CONTEXT
    ? [
        `${id} reads ${contextTokens} tokens, but OpenClaw needs ${LEAST_CONTEXT}. Start with --context window.`,
      ]
    : [];
}

const demoNotes = (id: string, systemBudget: number | undefined): readonly string[] =>
  systemBudget === undefined
    ? []
    : [
        `${id} is a small demo model: it sees only ${systemBudget} tokens of OpenClaw's system text. ${REAL_WORK}.`,
      ];
