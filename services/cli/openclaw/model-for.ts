import { REAL_WORK } from '../real-work.ts';
import type { ServedModel } from './ask-server.ts';
import { LEAST_CONTEXT, type OpenClawModel, WINDOW_CONTEXT } from './settings.ts';

/** Tokens of the longest answer that OpenClaw is told of; it may still ask for less. */
const MOST_ANSWER = 8_192;
/** What a server behind serving can do is its own affair; this is what OpenClaw assumes of local models. */
const UNKNOWN_CONTEXT = 32_768;

/** What OpenClaw is told of a model that is served; `notes`: what a person should know of it. */
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
    return [`The server does not tell its context; ${UNKNOWN_CONTEXT} tokens are assumed.`];
  return mode === 'error' && contextTokens < LEAST_CONTEXT
    ? [`${id} reads ${contextTokens} tokens; OpenClaw needs ${LEAST_CONTEXT}. Start with --context window.`]
    : [];
}

const demoNotes = (id: string, systemBudget: number | undefined): readonly string[] =>
  systemBudget === undefined
    ? []
    : [
        `${id} is a small model, to try the loop with: it is shown ${systemBudget} tokens of OpenClaw's system text. ${REAL_WORK}.`,
      ];
