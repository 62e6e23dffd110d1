import { createMutex, every, type Mutex } from '../lang/async.ts';
import { isServiceError } from '../runtime/errors.ts';
import { AnyAnswer, CapabilitiesAnswer, ModelAnswer, SessionAnswer } from './answers.ts';
import { type Connection, openConnection, SDK_VERSION } from './connection.ts';
import { invalid } from './datum.ts';
import { dialects } from './dialects.ts';
import { isNotFinite, TinkerError } from './errors.ts';
import { createMeter } from './meter.ts';
import { remoteModel, unload } from './remote-model.ts';
import { createTrainingCalls, type TrainingCalls } from './training-calls.ts';
import type {
  DialectName,
  RemoteModel,
  RemoteModelSettings,
  RemoteSession,
  ServerReport,
  TrainingServer,
} from './training-server.ts';

export type TrainingServerSettings = {
  /** what comes before `/api/v1` */
  readonly url: string;
  readonly apiKey: string;
  readonly dialect: DialectName;
  /** name of the model on the server */
  readonly model: string;
  readonly project?: string | undefined;
  /** token ids at or above this are refused before they are sent */
  readonly vocabularySize?: number | undefined;
  /** most tokens of all kinds together; undefined: no limit */
  readonly budgetTokens?: number | undefined;
  /** tokens that count towards the budget already; default 0 */
  readonly usedTokens?: number | undefined;
  /** ms before each repeat of a request; default about a minute in all */
  readonly waitsMs?: readonly number[];
  /** ms until the result of a call; default half an hour */
  readonly callLimitMs?: number;
  /** ms between heartbeats; default 10 s, as the official client */
  readonly heartbeatMs?: number;
};

const HEARTBEAT_MS = 10_000;
/** ms for the end of a session, which nothing waits for in earnest */
const CLOSE_LIMIT_MS = 10_000;
const DEFAULT_ALPHA = 32;

/** A client of the Tinker API. Sends nothing yet. */
export function openTrainingServer(settings: TrainingServerSettings): TrainingServer {
  const dialect = dialects[settings.dialect];
  const meter = createMeter(settings.budgetTokens, settings.usedTokens);
  const { url, apiKey, project, waitsMs, callLimitMs } = settings;
  const connection = openConnection({ url, apiKey, project, dialect, meter, waitsMs, callLimitMs });
  const calls = createTrainingCalls(connection, settings.dialect);
  let report: ServerReport = { models: undefined, contextTokens: undefined };
  const place: SessionPlace = {
    inTurn: createMutex(),
    connection,
    calls,
    settings,
    contextTokens: () => report.contextTokens,
  };
  return {
    dialect: settings.dialect,
    capabilities: dialect.capabilities,
    model: settings.model,
    check: async (signal) => {
      report = await askServer(connection, settings.model, signal);
      return report;
    },
    openSession: (about, signal) => openSession(place, about, signal),
    removeState: async (path, signal) => {
      const [, run, state] = /^tinker:\/\/([^/]+)\/(.+)$/.exec(path) ?? [];
      if (!dialect.capabilities.deletesStates || run === undefined) return;
      // a kind of state that the server does not have
      if (state!.startsWith('external_weights/') && dialect.adapter !== 'external') return;
      const target = `training_runs/${run}/checkpoints/${state}`;
      await connection
        .call('DELETE', target, AnyAnswer, undefined, { signal, isRepeatable: true, isEmpty: true })
        .catch((error: unknown) => {
          const isGone = isServiceError(error) && ['state_missing', 'model_not_loaded'].includes(error.code);
          if (!isGone) throw error;
        });
    },
    usage: meter.usage,
    close: () => connection.close(),
  };
}

/** Servers differ in which of these questions they answer; only the refusal of a key or of the model counts. */
async function askServer(connection: Connection, model: string, signal: AbortSignal): Promise<ServerReport> {
  const options = { signal, isRepeatable: true };
  const unless = <Value>(asked: Promise<Value>): Promise<Value | undefined> =>
    asked.catch((error: unknown) => {
      if (isServiceError(error) && error.code === 'refused') return undefined;
      throw error;
    });
  await unless(connection.call('GET', 'healthz', AnyAnswer, undefined, options));
  const answer = await unless(
    connection.call('GET', 'get_server_capabilities', CapabilitiesAnswer, undefined, options),
  );
  if (answer === undefined) return { models: undefined, contextTokens: undefined };
  const trained = answer.supported_models.filter(({ trainable }) => trainable !== false);
  const models = trained.flatMap(({ model_name: name }) => (name == null ? [] : [name]));
  const found = trained.find(({ model_name: name }) => name === model);
  if (found === undefined) throw TinkerError.UNKNOWN_MODEL({ model, known: models.join(', ') || '(none)' });
  return { models, contextTokens: found.max_context_length ?? undefined };
}

/**
 * A model that is killed between its gradient and its optimizer step leaves the gradient in its place on the server. A
 * step of a throw-away model takes it; the next model gets the same place, which is the first that is free.
 */
async function clearPlace(model: RemoteModel): Promise<void> {
  const idle = { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, gradientClip: undefined };
  await model.optimizerStep(idle).catch((error: unknown) => {
    // what was left may be anything
    if (!isNotFinite(error)) throw error;
  });
  await model.unload();
}

type SessionPlace = {
  /** Models are created one after the other. */
  readonly inTurn: Mutex;
  readonly connection: Connection;
  readonly calls: TrainingCalls;
  readonly settings: TrainingServerSettings;
  readonly contextTokens: () => number | undefined;
};

async function openSession(
  place: SessionPlace,
  about: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<RemoteSession> {
  const { connection, settings } = place;
  const { project, heartbeatMs = HEARTBEAT_MS } = settings;
  const body = {
    tags: [],
    user_metadata: about,
    sdk_version: SDK_VERSION,
    ...(project !== undefined && { project_id: project }),
    type: 'create_session',
  };
  // a second session of a lost answer has no heartbeat, so it ends by itself
  const repeatable = { signal, isRepeatable: true };
  const answer = await connection.call('POST', 'create_session', SessionAnswer, body, repeatable);
  const { session_id: id, error_message: refused } = answer;
  if (refused) throw TinkerError.REFUSED({ path: 'create_session', detail: refused });
  const beats = new AbortController();
  const beat = { session_id: id, type: 'session_heartbeat' };
  // SkyRL never ends a session without a heartbeat, so a client that is killed early would leave its models loaded.
  await connection.call('POST', 'session_heartbeat', AnyAnswer, beat, repeatable);
  const options = { signal: beats.signal, isRepeatable: true, limitMs: heartbeatMs };
  // A lost session shows in the next call of its models.
  void every(
    heartbeatMs,
    () => connection.call('POST', 'session_heartbeat', AnyAnswer, beat, options),
    beats.signal,
    () => {},
  );
  const promised = new Set<string>();
  const models: RemoteModel[] = [];
  let count = 0;
  const create = async (wanted: RemoteModelSettings): Promise<RemoteModel> => {
    const request = { session_id: id, model_seq_id: count++, ...modelRequest(settings, wanted) };
    const onModel = (model: string) => promised.add(model);
    const result = await connection.future('create_model', request, { signal, onModel });
    const { model_id: model } = connection.parse(ModelAnswer, result, 'create_model');
    promised.delete(model);
    const { vocabularySize } = settings;
    const limits = () => ({ vocabularySize, contextTokens: place.contextTokens() });
    const base = { connection, calls: place.calls, baseModel: settings.model, signal, limits };
    const created = remoteModel({ ...base, id: model });
    models.push(created);
    return created;
  };
  return {
    id,
    createModel: (wanted) =>
      place.inTurn(async () => {
        if (connection.settings.dialect.inheritsGradients) await clearPlace(await create(wanted));
        return create(wanted);
      }),
    close: async () => {
      beats.abort();
      // A creation that was cut off may still come true.
      await Promise.all([
        ...models.map((model) => model.unload()),
        ...[...promised].map((model) => unload(connection, model)),
      ]);
      if (!connection.settings.dialect.hosted) return;
      const last = { signal: AbortSignal.timeout(CLOSE_LIMIT_MS), isRepeatable: true, isEmpty: true };
      await connection.call('POST', `sessions/${id}/finish`, AnyAnswer, {}, last).catch(() => {});
    },
  };
}

/** @throws INVALID_REQUEST, RANK_NOT_POWER_OF_TWO */
function modelRequest(
  { dialect: name, model }: TrainingServerSettings,
  { rank, seed, alpha }: RemoteModelSettings,
) {
  const { capabilities, lora } = dialects[name];
  if (!(Number.isInteger(rank) && rank > 0)) throw invalid(`the rank is ${rank}`);
  if (!Number.isInteger(seed)) throw invalid(`the seed is ${seed}`);
  if (capabilities.powerOfTwoRank && !Number.isInteger(Math.log2(rank)))
    throw TinkerError.RANK_NOT_POWER_OF_TWO({ rank });
  const { fixedAlpha } = capabilities;
  if (fixedAlpha !== undefined && alpha !== undefined && alpha !== fixedAlpha)
    throw TinkerError.NOT_ON_THIS_SERVER({
      dialect: name,
      what: `alpha ${alpha}; it is always ${fixedAlpha}`,
    });
  return {
    base_model: model,
    lora_config: {
      rank,
      seed,
      train_unembed: false,
      train_mlp: true,
      train_attn: true,
      ...lora.members,
      ...(lora.alpha !== undefined && { [lora.alpha]: alpha ?? DEFAULT_ALPHA }),
    },
    type: 'create_model',
  };
}
