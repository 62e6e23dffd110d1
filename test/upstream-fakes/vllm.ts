import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../shared/lang/defined.ts';
import { type FakeCall, type FakeServer, fakeServer, sendEvent, sendJson } from './fake-server.ts';
import { answerOf, END_TOKEN, logProbOf, tokenOf, tokensOf } from './fake-tokens.ts';

/** What goes wrong, with every chat until it is taken back. */
export type VllmFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'cut' } // after the first token
  | { readonly kind: 'reset' } // before the first byte
  | { readonly kind: 'silent' } // not a byte
  | { readonly kind: 'stalled' } // not a byte after the first token
  | { readonly kind: 'error-frame' }
  | { readonly kind: 'no-token-ids' }
  | { readonly kind: 'lost-token' } // one chunk says nothing of its token
  | { readonly kind: 'log-prob'; readonly value: number | null }
  | { readonly kind: 'endless' } // a line, after the first token
  | { readonly kind: 'endless-refusal' }
  | { readonly kind: 'finish'; readonly reason: string }
  | { readonly kind: 'other-model' }; // the last chunk names another one

export type VllmFake = Pick<FakeServer, 'calls' | 'connections' | 'abandoned' | 'stop'> & {
  /** with its /v1 */
  readonly url: string;
  readonly adapters: ReadonlyMap<string, string>;
  /** Every name that an adapter was ever loaded under, in order. */
  readonly loadedNames: readonly string[];
  readonly fault: (fault: VllmFault | undefined) => void;
  /** The next loads fail so often. */
  readonly failLoads: (times: number) => void;
  /** Answers stop after their first token until what is returned is called. */
  readonly hold: () => () => void;
  readonly answers: (model: string) => string;
  readonly say: (answers: (model: string) => string) => void;
  /** Comes back as a new process: the same port, no adapters. */
  readonly restart: () => Promise<void>;
};

const aMillion = 'a'.repeat(1_000_000);

type Options = {
  readonly model?: string;
  /** Whether VLLM_ALLOW_RUNTIME_LORA_UPDATING is set. */
  readonly takesAdapters?: boolean;
  readonly apiKey?: string;
};

/**
 * vLLM's HTTP interface, as its documentation and its api_server describe it: chat completions with
 * `return_token_ids`, `/v1/models` with adapters and their `parent`, the two calls that move adapters,
 * `/tokenize` and `/health`. Its model answers its own name.
 */
export async function vllmFake({
  model = 'base-model',
  takesAdapters = true,
  apiKey,
}: Options = {}): Promise<VllmFake> {
  const adapters = new Map<string, string>();
  const loadedNames: string[] = [];
  let fault: VllmFault | undefined;
  let failingLoads = 0;
  let gate: Promise<void> | undefined;
  let answer = answerOf;

  const error = (status: number, type: string, message: string) =>
    [status, { error: { message, type, param: null, code: status } }] as const;
  const isKnown = (call: FakeCall) => {
    const { authorization } = call.headers;
    return apiKey === undefined || authorization === `Bearer ${apiKey}`;
  };

  /** As fast as it is read, until whoever reads has had enough. */
  const endless = (response: Parameters<typeof sendJson>[0], beginning = ''): void => {
    response.on('drain', () => response.write(aMillion)).write(beginning + aMillion);
  };

  const chat = async (call: FakeCall, response: Parameters<typeof sendJson>[0]): Promise<void> => {
    const { body } = call;
    const asked = String(body.model);
    if (!isKnown(call)) return sendJson(response, 401, { error: 'Unauthorized' });
    if (asked !== model && !adapters.has(asked))
      return sendJson(response, ...error(404, 'NotFoundError', `The model \`${asked}\` does not exist.`));
    if (fault?.kind === 'status')
      return sendJson(response, ...error(fault.status, 'Error', fault.message), fault.headers);
    if (fault?.kind === 'endless-refusal') return endless(response.writeHead(400));
    if (fault?.kind === 'reset') return void response.destroy();
    if (fault?.kind === 'silent') return;
    const wantsIds = body.return_token_ids === true && fault?.kind !== 'no-token-ids';
    const promptIds = tokensOf(JSON.stringify(body.messages));
    const choices = Array.from({ length: Number(body.n ?? 1) }, (_, index) => index);
    const head = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1, model: asked };
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const index of choices)
      sendEvent(response, {
        ...head,
        choices: [{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
        ...(wantsIds && { prompt_token_ids: promptIds }),
      });
    const text = [...answer(asked)].slice(0, Number(body.max_tokens ?? 1_000));
    const tokens = [
      ...text.map((character) => ({ id: tokenOf(character), character })),
      { id: END_TOKEN, character: '' },
    ];
    for (const [place, { id, character }] of tokens.entries()) {
      const isLast = place === tokens.length - 1;
      for (const index of choices) {
        const isLost = fault?.kind === 'lost-token' && place === 1;
        const sure = fault?.kind === 'log-prob' && place === 1 ? fault.value : logProbOf(asked, place);
        const logprobs = {
          content: [{ token: character, logprob: sure, bytes: [], top_logprobs: [] }],
        };
        sendEvent(response, {
          ...head,
          ...defined({ model: isLast && fault?.kind === 'other-model' ? 'another' : undefined }),
          choices: [
            {
              index,
              delta: character === '' ? {} : { content: character },
              logprobs: body.logprobs === true && !isLost ? logprobs : null,
              finish_reason: !isLast ? null : fault?.kind === 'finish' ? fault.reason : 'stop',
              ...defined({ stop_reason: isLast ? null : undefined }),
              ...(wantsIds && { token_ids: isLost ? null : [id] }),
            },
          ],
        });
      }
      if (place > 0) continue;
      if (fault?.kind === 'cut') return void response.destroy();
      if (fault?.kind === 'stalled') return;
      if (fault?.kind === 'endless') return endless(response, 'data: ');
      if (fault?.kind === 'error-frame') {
        sendEvent(response, error(500, 'InternalServerError', 'EngineCore encountered an issue.')[1]);
        return void response.end('data: [DONE]\n\n');
      }
      await gate;
    }
    const completion = tokens.length * choices.length;
    const usage = {
      prompt_tokens: promptIds.length,
      completion_tokens: completion,
      total_tokens: promptIds.length + completion,
    };
    sendEvent(response, { ...head, choices: [], usage });
    sendEvent(response, '[DONE]');
    setTimeout(() => response.end(), 5); // a packet of its own
  };

  const server = await fakeServer({
    '/health': (_, response) => void response.writeHead(200).end(),
    '/v1/models': (_, response) =>
      sendJson(response, 200, {
        object: 'list',
        data: [
          { id: model, object: 'model', owned_by: 'vllm', root: model, parent: null, max_model_len: 4096 },
          ...[...adapters].map(([id, root]) => ({ id, object: 'model', root, parent: model })),
        ],
      }),
    '/v1/chat/completions': chat,
    '/tokenize': ({ body }, response) => {
      const tokens = tokensOf(JSON.stringify(body.messages));
      sendJson(response, 200, { count: tokens.length, max_model_len: 4096, tokens, token_strs: null });
    },
    ...(takesAdapters && {
      '/v1/load_lora_adapter': ({ body }, response) => {
        const [name, folder] = [String(body.lora_name), String(body.lora_path)];
        if (failingLoads > 0) {
          failingLoads -= 1;
          return sendJson(response, ...error(500, 'InternalServerError', 'CUDA out of memory'));
        }
        if (adapters.has(name))
          return sendJson(
            response,
            ...error(400, 'InvalidUserInput', `The lora adapter '${name}' has already been loaded.`),
          );
        const files = ['adapter_config.json', 'adapter_model.safetensors'];
        if (!files.every((file) => existsSync(join(folder, file))))
          return sendJson(
            response,
            ...error(404, 'NotFoundError', `Loading lora ${name} failed: No adapter found for ${folder}`),
          );
        adapters.set(name, folder);
        loadedNames.push(name);
        response.writeHead(200).end(`Success: LoRA adapter '${name}' added successfully.`);
      },
      '/v1/unload_lora_adapter': ({ body }, response) => {
        const name = String(body.lora_name);
        if (!adapters.delete(name))
          return sendJson(
            response,
            ...error(404, 'NotFoundError', `The lora adapter '${name}' cannot be found.`),
          );
        response.writeHead(200).end(`Success: LoRA adapter '${name}' removed successfully.`);
      },
    }),
  });
  return {
    ...server,
    url: `${server.origin}/v1`,
    adapters,
    loadedNames,
    fault: (next) => {
      fault = next;
    },
    failLoads: (times) => {
      failingLoads = times;
    },
    hold: () => {
      const held = Promise.withResolvers<void>();
      gate = held.promise;
      return () => {
        gate = undefined;
        held.resolve();
      };
    },
    answers: (name) => answer(name),
    say: (next) => {
      answer = next;
    },
    restart: async () => {
      await server.stop();
      adapters.clear();
      await server.start();
    },
  };
}
