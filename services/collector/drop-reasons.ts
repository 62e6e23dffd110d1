import type { SampleDropped } from '../../shared/events/sample-dropped.ts';

/**
 * Why a completed turn does not train; `stale`, `off-lineage` and what was `deleted` or
 * `withdrawn` while it waited for a batch are decided by `submit`, the others by `assemble`.
 */
export const dropReasons: Readonly<Record<SampleDropped['data']['reason'], string>> = {
  'no-verdict': 'the judgment was 0, and the session had a better sample or nothing to learn from',
  'no-hint': 'the adapter learns from hints only (method `opd`), and there was no hint',
  unavailable: 'no judgment: votes were missing at the deadline',
  'vote-failed': 'three votes on it timed out or crashed the judge',
  'no-reward': 'the session has rewards and ended without one for this turn',
  discarded: 'the client discarded its session, for example a failed attempt',
  deleted: 'the client deleted the response before it was in a batch',
  withdrawn: 'an operator withdrew it (`clawloop turns withdraw`) before it was in a batch',
  corrected: 'later evidence, for example a thumb, made a new sample that replaces it',
  secret: 'a hint contains an API key, password, private key, token or card number; `rule` names the kind',
  stale:
    'the head advanced by more than `--max-staleness` versions while it waited or before its session ended',
  'record-gone':
    'the record of its turn is missing, unreadable, or replaced by another; `rule` is its position',
  'set-aside':
    'its wishes are set aside because corrections had no effect; `rule` names them. New evidence takes them up again',
  contradicted: 'a later wish of the same person contradicts it; `rule` names its own wish',
  'too-late': 'later evidence came a day or more after the judgment, when the turn was forgotten',
  'off-lineage': 'the version that sampled it was rolled back and is not an ancestor of the head',
};
