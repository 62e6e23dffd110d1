import { z } from 'zod';

/** ms to wait for an answer on an open connection */
const PATIENCE_MS = 3_000;

const Model = z.looseObject({
  id: z.string(),
  max_model_len: z.int().optional(),
  clawloop: z
    .looseObject({ context: z.enum(['window', 'error']).optional(), system_budget: z.int().optional() })
    .optional(),
});
const Models = z.looseObject({ data: z.array(Model).min(1) });

export type ServedModel = {
  readonly id: string;
  /** tokens; undefined: the server does not report it */
  readonly contextTokens: number | undefined;
  /** for a prompt that does not fit */
  readonly mode: 'window' | 'error' | undefined;
  /** tokens of the system text that the model sees; undefined: all, or not reported */
  readonly systemBudget: number | undefined;
};

export type ServerAnswer<Value> =
  | { readonly kind: 'answer'; readonly value: Value }
  | { readonly kind: 'silent' }
  /** the key is missing or wrong */
  | { readonly kind: 'refused' }
  /** another kind of server, or no such model */
  | { readonly kind: 'unknown'; readonly status: number };

/** The first model that the server lists. */
export const firstModel = (baseUrl: string, key: string | undefined): Promise<ServerAnswer<ServedModel>> =>
  ask(`${baseUrl}/models`, key, (body) => Models.parse(body).data[0]!);

export const namedModel = (
  baseUrl: string,
  id: string,
  key: string | undefined,
): Promise<ServerAnswer<ServedModel>> =>
  ask(`${baseUrl}/models/${encodeURIComponent(id)}`, key, (body) => Model.parse(body));

async function ask(
  url: string,
  key: string | undefined,
  read: (body: unknown) => z.output<typeof Model>,
): Promise<ServerAnswer<ServedModel>> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE_MS) }).catch(
    () => undefined,
  );
  if (response === undefined) return { kind: 'silent' };
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  if (status === 401 || status === 403) return { kind: 'refused' };
  if (status !== 200) return { kind: 'unknown', status };
  try {
    const { id, max_model_len: contextTokens, clawloop } = read(body);
    const { context: mode, system_budget: systemBudget } = clawloop ?? {};
    return { kind: 'answer', value: { id, contextTokens, mode, systemBudget } };
  } catch {
    return { kind: 'unknown', status };
  }
}
