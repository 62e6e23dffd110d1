import { workerData } from 'node:worker_threads';
import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { loadModelSettings, promptLimits } from '../../../shared/policy/model/model-settings.ts';
import { loadChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import { loadTokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { answerCalls } from '../../../shared/runtime/answer-calls.ts';
import { toolCallForm } from '../decoding/tool-call-form.ts';
import { contextOf } from './context.ts';
import type { PromptCalls, PromptSetup } from './local/protocol.ts';
import { countPrompt, makePrompt } from './prompt.ts';
import { failureOf } from './thread.ts';
import type { ReadingEvent } from './watched-thread.ts';

// Converts text to token ids. A long prompt takes a second, which would interrupt every stream on the engine's thread.

const setup = workerData as PromptSetup;
const { modelFolder, context } = setup;

const { config } = await openCheckpoint(modelFolder);
const template = await loadChatTemplate(modelFolder);
const maker = {
  tokenizer: await loadTokenizer(modelFolder),
  template,
  toolCallForm: toolCallForm(template),
  contextTokens: contextOf(config, setup).tokens,
  context,
  limits: promptLimits(await loadModelSettings(modelFolder), setup.systemBudget),
};

answerCalls<PromptCalls>(
  {
    count: (parts) => countPrompt(maker, parts),
    prompt: (request, { tell }) => {
      const reading = (param: string) => tell({ param } satisfies ReadingEvent);
      return makePrompt({ ...maker, reading }, request);
    },
  },
  failureOf,
);
