import type { RemoteModel, ServerSequence } from '../../../shared/tinker/training-server.ts';
import type { LearningEngine } from '../learning-engine.ts';

/** Tokens of the probe's answer. */
const TOKENS = 24;
const QUESTION = 'How do I pack for a weekend trip?';
const ANSWER = 'Begin with the clothes that you need, then add what you would miss most, and close the bag.';

/**
 * A fixed question and answer. Their log-probs under a version are stored with it, so that the next step recognises the
 * state that the server loads. They contain nothing that a person wrote.
 */
export function probeSequence(writePrompt: LearningEngine['writePrompt']): ServerSequence {
  const write = (content: string) =>
    writePrompt({ messages: [{ role: 'user', content }], tools: [], variables: {} });
  try {
    return { promptIds: write(QUESTION), responseIds: write(ANSWER).slice(0, TOKENS) };
  } catch {
    // The template takes no single user message: any ids do.
    const ids = Array.from({ length: TOKENS }, (_, index) => 1 + index);
    return { promptIds: ids, responseIds: ids };
  }
}

/** nats; servers that compute in bf16 differ from themselves by less */
const TOLERANCE = 0.05;

type Probe = ServerSequence & { readonly logProbs: readonly number[] };

/** How a model differs from the version that a probe was made of; undefined: it does not. */
export async function probeMismatch(
  model: Pick<RemoteModel, 'forward'>,
  probe: Probe,
): Promise<string | undefined> {
  const [row] = await model.forward([probe]);
  const gaps = probe.logProbs.map((logProb, t) => Math.abs(logProb - row![t]!));
  const worst = Math.max(...gaps);
  return worst <= TOLERANCE
    ? undefined
    : `log-probs of the probe differ by ${worst.toPrecision(3)} nats, the limit is ${TOLERANCE}`;
}
