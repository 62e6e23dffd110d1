import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';

/** Every so many token ids end an answer. */
const ENDS_EVERY = 8;

/**
 * A folder with SmolLM2-135M's dimensions and random weights, which never come to an end by themselves: an
 * answer that was cut off does not train, so many tokens end it.
 */
export async function makeTalkingModel(folder: string): Promise<void> {
  const config = randomModels['smollm2-135m'];
  await makeRandomModel(folder, config);
  const file = join(folder, 'generation_config.json');
  const generation = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  const own = [generation.eos_token_id].flat() as number[];
  const others = Array.from(
    { length: Math.floor(config.vocabularySize / ENDS_EVERY) - 1 },
    (_, index) => (index + 1) * ENDS_EVERY,
  );
  const ends = [...new Set([...own, ...others])];
  await writeFile(file, JSON.stringify({ ...generation, eos_token_id: ends }));
}
