import type { Tokenizer } from '../../../shared/policy/tokenizer.ts';
import type { CallGuard } from '../chat/forced-call.ts';
import type { TokenGuard } from './token-guard.ts';

type Texts = Pick<Tokenizer, 'decode'>;
type Model = { readonly tokenizer: Texts; readonly endTokenIds: ReadonlySet<number> };

/** The text of each token, by tokenizer: looking through a vocabulary decodes all of it, once. */
const known = new WeakMap<Texts, Map<number, string>>();

/** A guard of a call's text as one of its tokens. */
export function callTokenGuard({ tokenizer, endTokenIds }: Model, guard: CallGuard): TokenGuard {
  const texts = known.get(tokenizer) ?? new Map<number, string>();
  known.set(tokenizer, texts);
  const textOf = (id: number): string => {
    if (endTokenIds.has(id)) return ''; // it would end the call before it is whole
    const text = texts.get(id) ?? tokenizer.decode([id], { skipSpecial: true });
    texts.set(id, text);
    return text;
  };
  const accepts = (id: number) => guard.accepts(textOf(id));
  return {
    accepts,
    take: (id) => guard.take(textOf(id)),
    keepOut: (logits) => {
      for (let id = 0; id < logits.length; id++) if (!accepts(id)) logits[id] = Number.NEGATIVE_INFINITY;
    },
    isOver: () => false, // its parser ends the answer
  };
}
