import { sum } from '../../../shared/lang/numbers.ts';
import type {
  RemoteModel,
  RemoteSession,
  ServerSequence,
  TrainingServer,
} from '../../../shared/tinker/training-server.ts';

/** Tokens of one step that were sent to be scored, and to be trained on. */
export type StepTokens = { scored: number; trained: number };

/** A server whose models count the tokens of their requests. */
export function countTokens(server: TrainingServer, counts: StepTokens): TrainingServer {
  const tokensOf = (sequences: readonly ServerSequence[]) =>
    sum(sequences.map(({ promptIds, responseIds }) => promptIds.length + responseIds.length));
  const counted = (model: RemoteModel): RemoteModel => ({
    ...model,
    forward: (sequences) => {
      counts.scored += tokensOf(sequences);
      return model.forward(sequences);
    },
    forwardCandidates: (sequences, candidates) => {
      counts.scored += tokensOf(sequences);
      return model.forwardCandidates(sequences, candidates);
    },
    topTokens: (sequences, count) => {
      counts.scored += tokensOf(sequences);
      return model.topTokens(sequences, count);
    },
    addGradient: (sequences, slopes, context) => {
      counts.trained += tokensOf(sequences);
      return model.addGradient(sequences, slopes, context);
    },
  });
  return {
    ...server,
    openSession: async (about, signal): Promise<RemoteSession> => {
      const session = await server.openSession(about, signal);
      return { ...session, createModel: async (settings) => counted(await session.createModel(settings)) };
    },
  };
}
