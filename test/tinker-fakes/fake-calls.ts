import { randomUUID } from 'node:crypto';
import type { FakeEngine } from './fake-engine.ts';
import type { createFaults } from './fake-faults.ts';
import { type Body, type Promises, type Result, Status } from './fake-promises.ts';
import type { FakeSessions } from './fake-sessions.ts';
import type { FakeTraits } from './fake-traits.ts';
import { decodeCall, encodeLogProbs, encodeTopTokens } from './protobuf-side.ts';
import { BadRequest, type FakeDatum, snapshot } from './trained-models.ts';

export type FakeState = {
  readonly traits: FakeTraits;
  readonly modelName: string;
  readonly engine: FakeEngine;
  readonly faults: ReturnType<typeof createFaults>;
  readonly promises: Promises;
  readonly sessions: FakeSessions;
};

type Route = (body: Body, path: string) => Body;

/** A call of a model, in the order of the numbers where the server keeps to it. */
function numbered(
  { engine, traits, promises }: FakeState,
  path: string,
  body: Body,
  run: (isFirst: boolean) => Promise<Result> | Result,
): Body {
  const id = String(body.model_id);
  engine.modelOf(id);
  const request_id = promises.once(`${id} ${body.seq_id}`, body, traits.deduplicates, () =>
    promises.create(path, () => {
      const model = engine.modelOf(id);
      model.requests += 1;
      const next = model.sequence + 1;
      if (traits.deduplicates && body.seq_id !== next)
        throw new BadRequest(`request ${body.seq_id} came before ${next}`);
      model.sequence = next;
      return run(next === 1);
    }),
  );
  return { request_id, model_id: id };
}

type Pass = { readonly loss: string; readonly data: readonly FakeDatum[]; readonly backward: boolean };

const pass = (state: FakeState, path: string, body: Body, { loss, data, backward }: Pass): Body =>
  numbered(state, path, body, async () => {
    const { engine, traits } = state;
    const isWide = data.some(({ inputs }) => (inputs.target_tokens?.shape.length ?? 1) > 1);
    if (isWide && !traits.severalTargets) throw new BadRequest('target_tokens must be one-dimensional');
    const rows = await engine.pass(String(body.model_id), loss, data, backward);
    const outputs = rows.map((row, index) => {
      const { shape } = data[index]!.inputs.target_tokens!;
      const logprobs = { data: [...row], dtype: 'float32', shape };
      return backward && traits.quietBackward ? {} : { logprobs };
    });
    return {
      json: { loss_fn_output_type: 'scalar', loss_fn_outputs: outputs, metrics: {} },
      protobuf: encodeLogProbs(rows),
    };
  });

type WireDatum = {
  readonly model_input: { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
  readonly loss_fn_inputs: FakeDatum['inputs'];
};

function passOfJson(body: Body, member: string, backward: boolean): Pass {
  const input = body[member] as { readonly data: readonly WireDatum[]; readonly loss_fn: string };
  const data = input.data.map(({ model_input: { chunks }, loss_fn_inputs: inputs }) => ({
    tokens: chunks.flatMap(({ tokens }) => tokens),
    inputs,
  }));
  return { loss: input.loss_fn, data, backward };
}

/** `forward_backward` in protobuf. */
export function binaryCall(state: FakeState, path: string, bytes: Uint8Array): Body {
  const { modelId, sequence, loss, data, forwardOnly } = decodeCall(bytes);
  const body = { model_id: modelId, seq_id: sequence, loss, data };
  return pass(state, path, body, { loss, data, backward: !forwardOnly });
}

export const callsOf = (state: FakeState): Readonly<Record<string, Route>> => ({
  ...modelCalls(state),
  forward: (body, path) => {
    if (!state.traits.hasForward) throw new Status(404, 'Not Found');
    return pass(state, path, body, passOfJson(body, 'forward_input', false));
  },
  forward_backward: (body, path) => pass(state, path, body, passOfJson(body, 'forward_backward_input', true)),
  optim_step: (body, path) =>
    numbered(state, path, body, () => {
      const adam = body.adam_params as Parameters<FakeEngine['optimize']>[1];
      const planned = state.faults.take('norm', path);
      const norm = state.engine.optimize(String(body.model_id), adam);
      const { metric } = state.traits;
      return {
        json: { metrics: metric === undefined ? {} : { [metric]: planned ? planned.fault.norm : norm } },
      };
    }),
  ...stateCalls(state),
});

function modelCalls({ traits, modelName, engine, promises, sessions }: FakeState) {
  /** models by the request that created them */
  const created = new Map<string, string>();
  return {
    create_session: ({ user_metadata: metadata }) => {
      const session_id = sessions.open(metadata);
      return { type: 'create_session', info_message: null, error_message: null, session_id };
    },
    session_heartbeat: ({ session_id }) => {
      if (!sessions.beat(String(session_id))) throw new Status(404, 'Session not found');
      return { type: 'session_heartbeat' };
    },
    create_model: (body, path) => {
      if (sessions.get(String(body.session_id)) === undefined) throw new Status(404, 'Session not found');
      if (body.base_model !== modelName) throw new Status(400, `Unknown model ${body.base_model}`);
      const lora = body.lora_config as Record<string, number>;
      const alpha = traits.alpha === undefined ? 32 : lora[traits.alpha]!;
      const make = () => {
        const model_id = `model_${randomUUID().slice(0, 8)}`;
        const request_id = promises.create(path, () => {
          engine.create(model_id, String(body.session_id), { rank: lora.rank!, alpha, seed: lora.seed! });
          return { json: { model_id } };
        });
        created.set(request_id, model_id);
        return request_id;
      };
      const key = `${body.session_id} ${body.model_seq_id}`;
      const request_id = promises.once(key, body, traits.deduplicates, make);
      return { request_id, model_id: created.get(request_id), status: 'created' };
    },
    unload_model: ({ model_id }, path) => {
      const request_id = promises.create(path, () => {
        engine.unload(String(model_id));
        return { json: { model_id } };
      });
      return { request_id, model_id };
    },
  } satisfies Record<string, Route>;
}

function stateCalls(state: FakeState) {
  const { traits, engine, promises } = state;
  const samplers = new Map<string, ReturnType<typeof snapshot>>();
  const names = new Set<string>();
  const save = (kind: string, body: Body, path: string): Body => {
    const name = String(body.path);
    const target = `tinker://${body.model_id}/${kind}/${name}`;
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) throw new Status(422, 'path does not match the pattern');
    // SkyRL refuses the name before it looks at the number
    if (traits.refusesNames && names.has(target))
      throw new Status(409, `Checkpoint '${name}' already exists for model '${body.model_id}'`);
    const answer = numbered(state, path, body, () => {
      engine.save(target, String(body.model_id));
      return { json: { path: target } };
    });
    names.add(target);
    return answer;
  };
  return {
    load_weights: (body, path) =>
      numbered(state, path, body, (isFirst) => {
        engine.load(String(body.model_id), String(body.path), isFirst);
        return { json: { type: 'load_weights' } };
      }),
    save_weights: (body, path) => save('weights', body, path),
    save_weights_for_sampler: (body, path) => {
      if (body.path !== undefined) return save('sampler_weights', body, path);
      return numbered(state, path, body, () => {
        const sampling_session_id = `sampling_${randomUUID().slice(0, 8)}`;
        samplers.set(sampling_session_id, snapshot(engine.modelOf(String(body.model_id))));
        return { json: { sampling_session_id } };
      });
    },
    save_weights_external: (body, path) => {
      if (traits.adapter !== 'external') throw new Status(404, 'Not Found');
      return save('external_weights', body, path);
    },
    asample: (body, path) => ({
      request_id: promises.create(path, () => {
        const saved = samplers.get(String(body.sampling_session_id));
        if (saved === undefined) throw new BadRequest('Sampling session not found');
        return sampleOf(engine, saved, body);
      }),
    }),
  } satisfies Record<string, Route>;
}

/** One token that nobody reads, and the most likely tokens of each position of the prompt. */
function sampleOf(engine: FakeEngine, { adapter }: ReturnType<typeof snapshot>, body: Body): Result {
  const { chunks } = body.prompt as { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
  const tokens = chunks.flatMap((chunk) => chunk.tokens);
  const count = Number(body.topk_prompt_logprobs);
  const { ids, logProbs } = engine.topTokens(adapter, tokens, count);
  const pairAt = (at: number) => [ids[at], logProbs[at]];
  const lists = tokens.map((_, position) =>
    position === 0 ? null : Array.from({ length: count }, (__, k) => pairAt((position - 1) * count + k)),
  );
  const sequences = [{ stop_reason: 'length', tokens: [0], logprobs: [0] }];
  return {
    json: { sequences, topk_prompt_logprobs: lists },
    protobuf: encodeTopTokens(ids, logProbs, count),
  };
}
