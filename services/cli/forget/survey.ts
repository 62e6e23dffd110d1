import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import { lineage, openHead, viewOf } from '../../../shared/lineage/head.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { TurnStage } from '../../../shared/views/turn-view.ts';
import { TurnViews } from '../../../shared/views/turn-views.ts';

/** What is forgotten: a session of an access key, everything of a key, or an answer that belongs to no session. */
export type Target = {
  readonly scope: 'session' | 'key' | 'answer';
  readonly name: string;
  /** id of the access key */
  readonly key: string;
};

export type KnownTurn = {
  readonly key: string;
  readonly lane: string;
  readonly adapter: string;
  readonly live: boolean;
  /** undefined: a request beside the conversation whose session is unknown */
  readonly session?: string | undefined;
};

/** A version that was trained, and the turns that it learned from. */
export type TrainedVersion = {
  readonly adapter: string;
  readonly version: number;
  readonly parent: number;
  readonly turns: readonly string[];
};

export type Survey = {
  readonly turns: ReadonlyMap<string, KnownTurn>;
  /** pairs of a turn and the interaction that holds its next state: both hold the same words */
  readonly shown: readonly (readonly [turn: string, from: string])[];
  readonly versions: readonly TrainedVersion[];
  /** whether a version leads to the head of its adapter */
  readonly isOnLine: (version: TrainedVersion) => boolean;
  /** turns that an operator withdrew or a client deleted */
  readonly withdrawn: ReadonlySet<string>;
  readonly stageOf: (turn: string) => TurnStage | undefined;
};

/** Reads whose words are where, without keeping any. Feed it the topics in the order of the loop. */
export function openSurvey() {
  const views = new TurnViews({ keepsTexts: false });
  const turns = new Map<string, KnownTurn>();
  const shown: (readonly [string, string])[] = [];
  const batches = new Map<string, readonly string[]>();
  const versions: TrainedVersion[] = [];
  const withdrawn = new Set<string>();
  const heads = new Map<string, ReturnType<typeof openHead>>();
  const headOf = (adapter: string) => {
    const head = heads.get(adapter) ?? openHead();
    heads.set(adapter, head);
    return head;
  };
  const place = (turn: string, session: string | undefined): void => {
    const known = turns.get(turn);
    if (known !== undefined && session !== undefined) turns.set(turn, { ...known, session });
  };
  const on = (event: ClawLoopEvent): void => {
    views.on(event);
    if (topicOf(event) === 'training') headOf(event.subject).on(event);
    switch (event.type) {
      case 'interaction.completed': {
        const { interactionId, key, lane, adapter, live, session } = event.data;
        if (!turns.has(interactionId)) turns.set(interactionId, { key, lane, adapter, live, session });
        break;
      }
      case 'interaction.withdrawn':
      case 'response.deleted':
        withdrawn.add(event.data.interactionId);
        break;
      case 'turn.completed':
      case 'turn.continued':
        place(event.data.turnId, event.data.session);
        if (event.data.from !== null) shown.push([event.data.turnId, event.data.from]);
        break;
      case 'turn.skipped':
        place(event.data.turnId, event.data.session);
        break;
      case 'batch.submitted':
        batches.set(
          event.data.batchId,
          event.data.samples.map(({ sampleId }) => sampleId),
        );
        break;
      case 'policy.trained': {
        const { batchId, adapter, version, parent, leftOut = [] } = event.data;
        const left = new Set(leftOut.map(({ sampleId }) => sampleId));
        const samples = (batches.get(batchId) ?? []).filter((id) => !left.has(id));
        if (!versions.some((one) => one.adapter === adapter && one.version === version))
          versions.push({ adapter, version, parent, turns: samples.map(turnOfSample) });
        break;
      }
    }
  };
  const survey: Survey = {
    turns,
    shown,
    versions,
    isOnLine: ({ adapter, version }) => {
      const head = headOf(adapter).state();
      return lineage(viewOf(head), head.head).includes(version);
    },
    withdrawn,
    stageOf: (turn) => views.turns.get(turn)?.stage,
  };
  return { on, survey };
}

/**
 * What an argument of `clawloop forget` names: a session, an access key's id, or an answer's id, which stands for its
 * session, since the later prompts of the session repeat its words.
 * @throws UsageError when it names nothing, or several sessions
 */
export function targetOf({ turns }: Survey, word: string, key: string | undefined): Target {
  const ofKey = [...turns].filter(([, turn]) => key === undefined || turn.key === key);
  const answer = turns.get(word);
  if (answer !== undefined && (key === undefined || answer.key === key)) {
    if (answer.session === undefined) return { scope: 'answer', name: word, key: answer.key };
    return { scope: 'session', name: answer.session, key: answer.key };
  }
  const keys = new Set(ofKey.filter(([, { session }]) => session === word).map(([, turn]) => turn.key));
  const isKey = ofKey.some(([, turn]) => turn.key === word);
  if (keys.size > 1 || (keys.size > 0 && isKey))
    throw new UsageError(
      isKey
        ? `${word} is a session and an access key: name an answer of the session, or rename the key's clients`
        : `several access keys have a session ${word}: add --key with one of ${[...keys].sort().join(', ')}`,
    );
  const [only] = keys;
  if (only !== undefined) return { scope: 'session', name: word, key: only };
  if (isKey) return { scope: 'key', name: word, key: word };
  throw new UsageError(
    `the log has no session, access key or answer ${word}: see clawloop turns list --json, clawloop keys list`,
  );
}

/** The turns of a target, and those that hold a next state of theirs. */
export function turnsOf({ turns, shown }: Survey, { scope, name, key }: Target): ReadonlySet<string> {
  const chosen = new Set(
    [...turns]
      .filter(([id, turn]) => {
        if (turn.key !== key) return false;
        return scope === 'key' || (scope === 'session' ? turn.session === name : id === name);
      })
      .map(([id]) => id),
  );
  for (let before = -1; before !== chosen.size; ) {
    before = chosen.size;
    for (const [turn, from] of shown) {
      if (chosen.has(turn)) chosen.add(from);
      else if (chosen.has(from)) chosen.add(turn);
    }
  }
  return chosen;
}

/** Turns among them whose samples may still train: these must end first. */
export const openTurns = (survey: Survey, turns: ReadonlySet<string>): readonly string[] =>
  [...turns].filter((turn) => {
    const kind = survey.stageOf(turn)?.kind;
    return kind !== undefined && kind !== 'trained' && kind !== 'not-trained';
  });

/** Versions that learned from them. */
export const versionsFrom = ({ versions }: Survey, turns: ReadonlySet<string>): readonly TrainedVersion[] =>
  versions.filter((version) => version.turns.some((turn) => turns.has(turn)));
