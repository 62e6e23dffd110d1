import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../shared/lang/defined.ts';
import type { Tokenizer } from '../../shared/policy/text/tokenizer.ts';
import { type FakeHandler, type FakeServer, fakeServer, sendEvent, sendJson } from './fake-server.ts';
import { answerOf, logProbOf } from './fake-tokens.ts';

export type SglangFault =
  | { readonly kind: 'error-event'; readonly message: string } // what /generate says of a fault in a request
  | { readonly kind: 'no-log-probs' }
  | { readonly kind: 'other-ids' } // its two lists do not agree
  | { readonly kind: 'new-weights' } // amid the answer
  | { readonly kind: 'abort'; readonly status?: number; readonly message?: string } // amid the answer
  | { readonly kind: 'not-taken'; readonly status: number; readonly message: string }; // by its scheduler

export type SglangFake = Pick<FakeServer, 'calls' | 'connections' | 'abandoned' | 'stop'> & {
  readonly url: string;
  readonly adapters: ReadonlyMap<string, string>;
  readonly loadedNames: readonly string[];
  readonly fault: (fault: SglangFault | undefined) => void;
  readonly say: (answers: (model: string) => string) => void;
  readonly restart: () => Promise<void>;
};

type Options = {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>;
  readonly endId: number;
  /** `--incremental-streaming-output`: every event holds what is new alone. */
  readonly incremental?: boolean;
};

/**
 * SGLang's HTTP interface, as its documentation and its http_server describe it: /generate with `input_ids`
 * and `return_logprob`, faults of a request as events of a stream with status 200, adapters by /load_lora_adapter
 * and `lora_path`, and the part of its chat API that forces calls.
 */
export async function sglangFake({ tokenizer, endId, incremental = false }: Options): Promise<SglangFake> {
  const adapters = new Map<string, string>();
  const loadedNames: string[] = [];
  let fault: SglangFault | undefined;
  let answer = answerOf;

  const generate: FakeHandler = ({ body }, response) => {
    const name = body.lora_path === undefined ? 'base-model' : String(body.lora_path);
    const params = body.sampling_params as Readonly<Record<string, unknown>>;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const fail = (message: string) => {
      sendEvent(response, { error: { message, type: 'invalid_request_error', code: 400, retryable: false } });
      response.end('data: [DONE]\n\n');
    };
    if (body.lora_path !== undefined && !adapters.has(name)) {
      const known = [...adapters.keys()].join(', ');
      return fail(
        `Got LoRA adapter that has never been loaded: ${name}\nAll loaded adapters: dict_keys([${known}]).`,
      );
    }
    if (fault?.kind === 'error-event') return fail(fault.message);
    if (fault?.kind === 'not-taken') {
      const { status: status_code, message } = fault;
      const finish_reason = { type: 'abort', message, status_code, err_type: null };
      // its scheduler answers one token to a prompt of one token
      const counts = { prompt_tokens: 1, completion_tokens: 1, weight_version: 'default' };
      sendEvent(response, {
        text: '!',
        output_ids: [0],
        meta_info: { id: 'fake', finish_reason, ...counts },
      });
      return void response.end('data: [DONE]\n\n');
    }
    const wanted = [...tokenizer.encode(answer(name)), endId];
    const ids = wanted.slice(0, Number(params.max_new_tokens));
    const choices = Array.from({ length: Number(params.n ?? 1) }, (_, index) => index);
    for (const [place] of ids.entries()) {
      const isLast = place === ids.length - 1;
      const from = incremental ? place : 0;
      for (const index of choices) {
        const part = ids.slice(from, place + 1);
        const logProbs = part.map((id, at) => [
          logProbOf(name, from + at),
          fault?.kind === 'other-ids' ? id + 1 : id,
          null,
        ]);
        const ended = ids.at(-1) === endId ? { type: 'stop', matched: endId } : { type: 'length' };
        const abort = {
          type: 'abort',
          message: 'Aborted',
          status_code: null,
          ...(fault?.kind === 'abort' && fault.status !== undefined
            ? { message: fault.message, status_code: fault.status }
            : {}),
        };
        const isAborted = fault?.kind === 'abort' && place === 2;
        sendEvent(response, {
          text: tokenizer.decode(part),
          output_ids: part,
          ...defined({ index: choices.length > 1 ? index : undefined }),
          meta_info: {
            id: `fake-${index}`,
            finish_reason: isAborted ? abort : isLast ? ended : null,
            prompt_tokens: (body.input_ids as readonly number[]).length,
            weight_version: fault?.kind === 'new-weights' && place > 1 ? 'other' : 'default',
            completion_tokens: place + 1,
            cached_tokens: 0,
            ...defined({
              output_token_logprobs:
                body.return_logprob === true && fault?.kind !== 'no-log-probs' ? logProbs : undefined,
              output_top_logprobs:
                body.top_logprobs_num === undefined ? undefined : part.map((id) => [[-0.5, id, null]]),
            }),
          },
        });
        if (isAborted) return void response.end('data: [DONE]\n\n');
      }
    }
    response.end('data: [DONE]\n\n');
  };

  const moved = (success: boolean, error_message?: string) =>
    [
      success ? 200 : 400,
      {
        success,
        loaded_adapters: Object.fromEntries(adapters),
        ...defined({ error_message: success ? undefined : error_message }),
      },
    ] as const;

  const server = await fakeServer({
    '/health': (_, response) => void response.writeHead(200).end(),
    '/v1/models': (_, response) =>
      sendJson(response, 200, {
        object: 'list',
        data: [
          { id: 'base-model', root: 'base-model', parent: null, max_model_len: 4096 },
          ...[...adapters].map(([id, root]) => ({ id, root, parent: 'base-model', max_model_len: null })),
        ],
      }),
    '/generate': generate,
    '/v1/chat/completions': ({ body }, response) => {
      const [first] = body.tools as readonly { readonly function: { readonly name: string } }[];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const call = {
        index: 0,
        id: 'call_1',
        type: 'function',
        function: { name: first!.function.name, arguments: '{}' },
      };
      sendEvent(response, { model: 'base-model', choices: [{ index: 0, delta: { tool_calls: [call] } }] });
      sendEvent(response, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
      response.end('data: [DONE]\n\n');
    },
    '/load_lora_adapter': ({ body }, response) => {
      const [name, folder] = [String(body.lora_name), String(body.lora_path)];
      if (adapters.has(name))
        return sendJson(response, ...moved(false, `LoRA adapter ${name} is already loaded.`));
      if (!existsSync(join(folder, 'adapter_config.json')))
        return sendJson(response, ...moved(false, `Failed to load LoRA adapter from ${folder}`));
      // it reads every file of weights that stands there
      const weights = readdirSync(folder).filter((file) => file.endsWith('.safetensors'));
      if (weights.join() !== 'adapter_model.safetensors')
        return sendJson(response, ...moved(false, `Weights of no adapter: ${weights}`));
      adapters.set(name, folder);
      loadedNames.push(name);
      sendJson(response, ...moved(true));
    },
    '/unload_lora_adapter': ({ body }, response) => {
      const name = String(body.lora_name);
      if (!adapters.delete(name))
        return sendJson(response, ...moved(false, `LoRA with name ${name} does not exist.`));
      sendJson(response, ...moved(true));
    },
  });
  return {
    ...server,
    url: server.origin,
    adapters,
    loadedNames,
    fault: (next) => {
      fault = next;
    },
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
