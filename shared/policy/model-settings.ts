import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { PromptLimits } from '../chat/prompt-limits.ts';

/** The file of a model folder that says what Hugging Face's files have no word for. */
export const MODEL_SETTINGS_FILE = 'clawloop.json';

const ModelSettings = z.object({
  prompt_limits: z
    .object({ system_tokens: z.int().min(1), prompt_tokens: z.int().min(1).optional() })
    .optional(),
});
export type ModelSettings = z.output<typeof ModelSettings>;

/** Undefined: the model's makers say nothing. @throws Error where the file is not as it should be */
export async function loadModelSettings(folder: string): Promise<ModelSettings | undefined> {
  const file = join(folder, MODEL_SETTINGS_FILE);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const parsed = ModelSettings.safeParse(jsonOf(text));
  if (!parsed.success) throw new Error(`${file} cannot be used: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** @param systemBudget tokens; undefined: as the model's makers say, 0: no limits */
export function promptLimits(
  settings: ModelSettings | undefined,
  systemBudget: number | undefined,
): PromptLimits | undefined {
  const own = settings?.prompt_limits;
  const systemTokens = systemBudget ?? own?.system_tokens;
  if (systemTokens === undefined || systemTokens === 0) return undefined;
  return { systemTokens, promptTokens: own?.prompt_tokens };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
