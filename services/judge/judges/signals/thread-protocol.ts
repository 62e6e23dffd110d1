import type { Turn } from './bound-turn.ts';
import type { Signals } from './signals.ts';

export type ToThread = { readonly id: number; readonly turn: Turn };

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'signals'; readonly id: number; readonly signals: Signals }
  | { readonly kind: 'broke'; readonly id: number; readonly reason: string };
