import type { z } from 'zod';
import { settingRows } from '../../../shared/config/common.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../../shared/policy/executors/backend.ts';
import { loadChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import { loadTokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import type { Command } from '../command.ts';
import { ModelConfig, modelSettings } from '../config.ts';
import { fetchWithBar } from '../fetch-with-bar.ts';
import { isHelp } from '../help.ts';
import { describeMemory, describeModel } from '../model/report.ts';
import { sampleAnswer, sampleChat } from '../model/sample-answer.ts';
import { splitAction } from '../options.ts';

const SAMPLE_TOKENS = 32;

export const model: Command = {
  name: 'model',
  usage: 'check | fetch NAME',
  about: 'describe a model and its memory needs, or fetch it from the hub',
  details: [
    ['check NAME', 'show family, size, chat template, a sample answer, and memory for serving and training'],
    ['fetch NAME', 'fetch the newest commit of a model on the hub, owner/name or owner/name@revision'],
  ],
  helps: true,
  run: async (argv) => {
    if (argv.some(isHelp)) {
      const rows = settingRows('cli', ModelConfig as unknown as z.ZodObject);
      console.log(`clawloop model check NAME | fetch NAME [options]\n${model.about}\n\n${rows}`);
      return 0;
    }
    const { action, rest } = splitAction(argv, 'check');
    const [first, ...others] = rest;
    const hasName = first !== undefined && !first.startsWith('-');
    const settings = modelSettings(hasName ? ['--model', first, ...others] : rest);
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
    if (action === 'fetch') {
      console.log(await fetchWithBar(settings, stop.signal, { newest: true }));
      return 0;
    }
    if (action !== 'check') throw new UsageError(`unknown action '${action}'; one of: check, fetch`);
    await check(await fetchWithBar(settings, stop.signal), settings);
    return 0;
  },
};

async function check(folder: string, settings: ReturnType<typeof modelSettings>): Promise<void> {
  const checkpoint = await openCheckpoint(folder);
  const tokenizer = await loadTokenizer(folder);
  const template = await loadChatTemplate(folder);
  console.log(`${formatTable([settings.model, ''], describeModel(checkpoint, tokenizer))}\n`);
  console.log("sample chat in the model's template:");
  console.log(`${quoted(template.render({ messages: sampleChat, addGenerationPrompt: true }))}\n`);
  const executor = await openBackend(settings.backend);
  const parts = { tokenizer, template };
  const { text, tokens, seconds } = await sampleAnswer(checkpoint, executor, parts, SAMPLE_TOKENS);
  console.log(
    `its answer, ${tokens} tokens in ${seconds.toFixed(1)} s on ${executor.kind}:\n${quoted(text)}\n`,
  );
  const { rank } = defaultTrainingSettings(settings.model).settings;
  const size = { rank, tokens: settings.tokens, responseTokens: Math.ceil(settings.tokens / 4) };
  console.log(describeMemory(checkpoint.config, executor.kind, size));
}

const quoted = (text: string): string => text.replace(/^/gm, '  | ');
