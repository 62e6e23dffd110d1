import type { SampleDropped } from '../../shared/events/sample-dropped.ts';

/** Why a completed turn does not train; the first four are decided by `assemble`, the others by `submit`. */
export const dropReasons: Readonly<Record<SampleDropped['data']['reason'], string>> = {
  'no-verdict': 'the judges saw neither good nor bad, and its session had a better sample or nothing to tell',
  'no-hint':
    'its adapter learns from hints alone (method opd), and nobody said what the answer should have been',
  unavailable:
    'no judgment: the votes were not all in by the deadline, or a reward session ended without reward',
  secret: 'one of its hints holds an API key, a private key, a token or a card number; `rule` names the kind',
  stale: 'the head moved on by more versions than maxStaleness while it waited',
  'off-lineage': 'the version that sampled it was rolled back: it is no ancestor of the head',
};
