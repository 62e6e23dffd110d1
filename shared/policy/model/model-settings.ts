import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { PromptLimits } from '../../chat/prompt-limits.ts';
import { parseJson } from '../../lang/json.ts';

/** The file of a model folder with settings that Hugging Face's format does not have. */
export const MODEL_SETTINGS_FILE = 'clawloop.json';

const ModelSettings = z.object({
  prompt_limits: z
    .object({ system_tokens: z.int().min(1), prompt_tokens: z.int().min(1).optional() })
    .optional(),
});
export type ModelSettings = z.output<typeof ModelSettings>;

/** Undefined: the model has no such file. @throws Error if the file is invalid */
export async function loadModelSettings(folder: string): Promise<ModelSettings | undefined> {
  const file = join(folder, MODEL_SETTINGS_FILE);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const parsed = ModelSettings.safeParse(parseJson(text));
  if (!parsed.success) throw new Error(`${file} is invalid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** @param systemBudget tokens; undefined: the model's own limits, 0: no limits */
export function promptLimits(
  settings: ModelSettings | undefined,
  systemBudget: number | undefined,
): PromptLimits | undefined {
  const modelLimits = settings?.prompt_limits;
  const systemTokens = systemBudget ?? modelLimits?.system_tokens;
  if (systemTokens === undefined || systemTokens === 0) return undefined;
  return { systemTokens, promptTokens: modelLimits?.prompt_tokens };
}
