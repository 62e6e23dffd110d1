import { parentPort, workerData } from 'node:worker_threads';
import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoint.ts';
import { loadModelSettings, promptLimits } from '../../../shared/policy/model-settings.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { toolCallForm } from '../chat/tool-call-form.ts';
import { contextOf } from './context.ts';
import type { GenerationRequest, PromptParts } from './engine.ts';
import { countPrompt, makePrompt } from './prompt.ts';
import type { PromptCalls, PromptSetup } from './protocol.ts';
import { type FromThread, failureOf, type ToThread } from './thread.ts';
import type { ReadingEvent } from './watched-thread.ts';

// Text to token ids. A long prompt takes a second, which would be a gap in every stream if the engine's
// thread spent it.

const port = parentPort!;
const setup = workerData as PromptSetup;
const { modelFolder, context } = setup;
const send = (message: FromThread) => port.postMessage(message);

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

port.on('message', (message: ToThread) => {
  if (message.kind !== 'call') return;
  const { id } = message;
  const reading = (param: string) => send({ kind: 'event', id, event: { param } satisfies ReadingEvent });
  try {
    const result =
      (message.name as keyof PromptCalls) === 'count'
        ? countPrompt(maker, message.ask as PromptParts)
        : makePrompt({ ...maker, reading }, message.ask as GenerationRequest);
    send({ kind: 'result', id, result });
  } catch (error) {
    send({ kind: 'failed', id, failure: failureOf(error) });
  }
});

send({ kind: 'ready', report: '' });
