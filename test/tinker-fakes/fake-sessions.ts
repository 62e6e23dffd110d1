import { randomUUID } from 'node:crypto';
import type { FakeEngine } from './fake-engine.ts';
import type { Promises } from './fake-promises.ts';

/** ms without a heartbeat until the models of a session are unloaded; SkyRL's default */
export const SESSION_TIMEOUT_MS = 300_000;

export type FakeSession = {
  readonly metadata: unknown;
  beats: number;
  /** ms by the fake's clock; undefined: none yet */
  lastBeat: number | undefined;
  isExpired: boolean;
};

/** Sessions as SkyRL keeps them: it never ends a session that had no heartbeat. Only `elapse` moves their clock. */
export function createFakeSessions(engine: FakeEngine, promises: Promises) {
  const sessions = new Map<string, FakeSession>();
  let now = 0; // ms
  const isStale = ({ lastBeat, isExpired }: FakeSession) =>
    !isExpired && lastBeat !== undefined && lastBeat < now - SESSION_TIMEOUT_MS;
  const unloadStale = () => {
    for (const [id, session] of sessions) {
      if (!isStale(session)) continue;
      session.isExpired = true;
      for (const model of [...engine.models.values()]) if (model.session === id) engine.unload(model.id);
    }
    return { json: {} };
  };
  return {
    get: (id: string) => sessions.get(id),
    open: (metadata: unknown): string => {
      const id = `session_${randomUUID().slice(0, 8)}`;
      sessions.set(id, { metadata, beats: 0, lastBeat: undefined, isExpired: false });
      return id;
    },
    /** false: the session is unknown */
    beat: (id: string): boolean => {
      const session = sessions.get(id);
      if (session === undefined) return false;
      session.beats += 1;
      session.lastBeat = now;
      return true;
    },
    /** So many ms pass at once; resolves when the models of stale sessions are unloaded, after the calls before. */
    elapse: async (ms: number): Promise<void> => {
      now += ms;
      promises.create('elapse', unloadStale);
      await promises.settled();
    },
  };
}

export type FakeSessions = ReturnType<typeof createFakeSessions>;
