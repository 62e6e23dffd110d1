import type { z } from 'zod';
import { openBackend } from '../../../shared/policy/backend.ts';
import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoint.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { defaultTrainingSettings } from '../../../shared/policy/training-defaults.ts';
import { settingRows } from '../../../shared/service/config.ts';
import { type Command, UsageError } from '../command.ts';
import { ModelConfig, modelSettings } from '../config.ts';
import { fetchWithBar } from '../fetch-with-bar.ts';
import { isHelp } from '../help.ts';
import { describeMemory, describeModel } from '../model/report.ts';
import { sampleAnswer, sampleChat } from '../model/sample-answer.ts';
import { splitAction } from '../options.ts';
import { formatTable } from '../table.ts';

const SAMPLE_TOKENS = 32;

export const model: Command = {
  name: 'model',
  usage: 'check | fetch NAME',
  about: 'what a model is, says and needs; brings one from the hub',
  details: [
    ['check NAME', 'family, size, template, a sample, the memory that serving and training need'],
    ['fetch NAME', 'the newest commit of a model on the hub, owner/name or owner/name@revision'],
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
    const named = first !== undefined && !first.startsWith('-');
    const settings = modelSettings(named ? ['--model', first, ...others] : rest);
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
    if (action === 'fetch') {
      console.log(await fetchWithBar(settings, stop.signal, { newest: true }));
      return 0;
    }
    if (action !== 'check') throw new UsageError(`model ${action}? one of: check, fetch`);
    await check(await fetchWithBar(settings, stop.signal), settings);
    return 0;
  },
};

async function check(folder: string, settings: ReturnType<typeof modelSettings>): Promise<void> {
  const checkpoint = await openCheckpoint(folder);
  const tokenizer = await loadTokenizer(folder);
  const template = await loadChatTemplate(folder);
  console.log(`${formatTable([settings.model, ''], describeModel(checkpoint, tokenizer))}\n`);
  console.log('a small chat, as the model reads it:');
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
