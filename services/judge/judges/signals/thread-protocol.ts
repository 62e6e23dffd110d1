import type { Turn } from './bound-turn.ts';
import type { Signals } from './signals.ts';

export type SignalCalls = { readonly read: { readonly ask: Turn; readonly result: Signals } };
