import { isServiceError } from '../runtime/errors.ts';
import { LogProbsAnswer } from './answers.ts';
import type { Connection } from './connection.ts';
import type { Datum } from './datum.ts';
import { decodeLogProbs, encodeTrainingCall, type TrainingCall } from './protobuf.ts';
import { PROTOBUF } from './read-answers.ts';
import type { DialectName } from './training-server.ts';

/** Log-probs of each datum, all its targets in a row; undefined: the server returned none. */
type DatumLogProbs = readonly (Float32Array | undefined)[];

export type TrainingCalls = {
  readonly dialect: DialectName;
  /** of the encoding, about */
  readonly bytesPerNumber: () => number;
  readonly send: (call: TrainingCall, signal: AbortSignal) => Promise<DatumLogProbs>;
};

/** The two encodings of `forward` and `forward_backward`. */
export function createTrainingCalls(connection: Connection, dialect: DialectName): TrainingCalls {
  let { body } = connection.settings.dialect;
  const sendProtobuf = async (call: TrainingCall, signal: AbortSignal): Promise<DatumLogProbs> => {
    const result = await connection.future('forward_backward', encodeTrainingCall(call), {
      ...optionsOf(call, signal),
      contentType: PROTOBUF,
      accept: PROTOBUF,
    });
    if (result.kind === 'json') return fromJson(connection, result);
    try {
      return decodeLogProbs(result.bytes);
    } catch (error) {
      throw connection.badAnswer('forward_backward', (error as Error).message);
    }
  };
  return {
    dialect,
    bytesPerNumber: () => (body === 'json' ? 20 : 8),
    send: async (call, signal) => {
      if (body !== 'json') {
        try {
          return await sendProtobuf(call, signal);
        } catch (error) {
          const isRefused = isServiceError(error) && error.code === 'no_protobuf';
          if (!isRefused || body === 'protobuf') throw error;
          body = 'json';
        }
      }
      const [path, member] = call.forwardOnly
        ? ['forward', 'forward_input']
        : ['forward_backward', 'forward_backward_input'];
      const json = {
        model_id: call.modelId,
        seq_id: call.sequence,
        [member!]: { data: call.datums.map(jsonOf), loss_fn: call.loss },
      };
      return fromJson(connection, await connection.future(path!, json, optionsOf(call, signal)));
    },
  };
}

const optionsOf = ({ modelId, sequence }: TrainingCall, signal: AbortSignal) => ({
  signal,
  model: modelId,
  sequence,
});

const jsonOf = ({ tokens, inputs }: Datum) => ({
  model_input: { chunks: [{ type: 'encoded_text', tokens }] },
  loss_fn_inputs: Object.fromEntries(inputs),
});

function fromJson(connection: Connection, result: Awaited<ReturnType<Connection['future']>>): DatumLogProbs {
  const { loss_fn_outputs: outputs } = connection.parse(LogProbsAnswer, result, 'forward_backward');
  return outputs.map(
    ({ logprobs }) => logprobs && Float32Array.from(logprobs.data, (value) => value ?? Number.NaN),
  );
}
