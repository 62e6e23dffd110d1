import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import type { Executor } from '../../shared/policy/executors/executor.ts';
import { modelDigest } from '../../shared/policy/model/model-digest.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';
import { loadPolicy, type Policy } from '../../shared/policy/model/policy.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { TrainerError } from './errors.ts';

export type TeacherModel = { readonly policy: Policy; readonly digest: string };

/**
 * Loads another model as the teacher. It reads the policy's own tokens, so it must have the policy's
 * vocabulary.
 *
 * @param model its folder, or `claw-nano`
 * @throws TEACHER_VOCABULARY; UnknownModel; UnsupportedModel as openCheckpoint and loadTokenizer
 */
export async function loadTeacherModel(
  model: string,
  policyFolder: string,
  executor: Executor,
): Promise<TeacherModel> {
  const folder = modelFolder(model);
  const [theirs, ours] = await Promise.all([vocabularyDigest(folder), vocabularyDigest(policyFolder)]);
  if (theirs !== ours) throw TrainerError.TEACHER_VOCABULARY({ teacher: model });
  await loadTokenizer(folder); // checks that the teacher has a row for each token
  const policy = await loadPolicy(await openCheckpoint(folder), executor);
  return { policy, digest: await modelDigest(folder) };
}

const TokenizerFile = z.object({
  added_tokens: z.array(z.object({ id: z.int(), content: z.string() })),
  model: z.object({ vocab: z.unknown() }),
});

async function vocabularyDigest(folder: string): Promise<string> {
  const file = TokenizerFile.parse(JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')));
  return createHash('sha256').update(JSON.stringify(file)).digest('hex');
}
