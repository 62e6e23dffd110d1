import type { SampleDropped } from '../../shared/events/sample-dropped.ts';

/**
 * Why a completed turn does not train; `stale`, `off-lineage` and what was `deleted` or
 * `withdrawn` while it waited for a batch are decided by `submit`, the others by `assemble`.
 */
export const dropReasons: Readonly<Record<SampleDropped['data']['reason'], string>> = {
  'no-verdict': 'the judges saw neither good nor bad, and its session had a better sample or nothing to tell',
  'no-hint':
    'its adapter learns from hints alone (method opd), and nobody said what the answer should have been',
  unavailable: 'no judgment: the votes were not all in by the deadline',
  'vote-failed': 'set aside: three votes on it were ended at their time limit or broke the judge',
  'no-reward': 'its session is settled by reward, and ended without any for it',
  discarded: 'its session ended, and its client took it back: an attempt that failed, say',
  deleted: 'its client deleted it before it was in a batch',
  withdrawn: 'an operator took it back (`clawloop turns withdraw`) before it was in a batch',
  corrected: 'later evidence on its turn, a thumb say, made a sample that takes its place',
  secret:
    'one of its hints holds an API key, a password, a private key, a token or a card number; `rule` names the kind',
  stale: 'the head moved on by more versions than maxStaleness while it waited, or before its session ended',
  'record-gone':
    "the record of its turn is no longer in the log, cannot be read, or another record stands in its place; `rule` is the record's position",
  'set-aside':
    'the wishes that it says are set aside: corrections brought no change; `rule` names them. It is taken up again on new evidence',
  contradicted:
    'a later wish of the same person contradicts it while it waited; the latest counts. `rule` names what it wished',
  'too-late': 'later evidence on its turn came when the turn was forgotten, a day or more after its verdict',
  'off-lineage': 'the version that sampled it was rolled back: it is no ancestor of the head',
};
