import type { Vote } from '../../tally.ts';
import { lastBox, withoutThinking } from './parse-answer.ts';

/**
 * The judge's own words only: material holds no verdict form (see fence.ts). The last `\boxed{...}` wins; if
 * it holds anything but 1, 0 or -1, or there is none, the vote is null. Drafts inside a thinking block are no
 * verdict.
 */
export const parseVerdict = (output: string): Vote => lastBox(withoutThinking(output));
