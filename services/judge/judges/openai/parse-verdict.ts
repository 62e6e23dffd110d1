import type { Vote } from '../../judge-rows.ts';
import { lastBox, withoutThinking } from './parse-answer.ts';

/**
 * The vote in the last `\boxed{...}` outside the reasoning; null if there is none or it contains anything but 1, 0
 * or -1. Quoted material cannot contain a box (see fence.ts).
 */
export const parseVerdict = (output: string): Vote => lastBox(withoutThinking(output));
