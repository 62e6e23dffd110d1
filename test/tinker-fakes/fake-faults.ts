import { z } from 'zod';

/** What goes wrong, once unless `times` says otherwise, at calls whose path ends in `at`. */
export const FakeFault = z.discriminatedUnion('kind', [
  /** the server executes the call, and its connection ends before the answer */
  z.object({ kind: z.literal('lose-answer'), at: z.string() }),
  /** it answers at once with this status, and does nothing */
  z.object({
    kind: z.literal('refuse'),
    at: z.string(),
    status: z.int(),
    body: z.string().default(''),
    retryAfterS: z.number().optional(),
  }),
  /** the promise is gone (410), or nobody knows it (404) */
  z.object({ kind: z.literal('drop-promise'), at: z.literal('retrieve_future'), status: z.int() }),
  /** an optimizer step reports this norm */
  z.object({ kind: z.literal('norm'), at: z.literal('optim_step'), norm: z.number().nullable() }),
  /** the call fails in the engine */
  z.object({ kind: z.literal('fail'), at: z.string(), detail: z.string() }),
  /** the call stays unfinished until `release` */
  z.object({ kind: z.literal('hold'), at: z.string() }),
  /** the process ends without a word while it executes the call */
  z.object({ kind: z.literal('die'), at: z.string() }),
]);
export type FakeFault = z.input<typeof FakeFault>;

type Planned = {
  readonly fault: z.output<typeof FakeFault>;
  /** of a held call */
  readonly gate: PromiseWithResolvers<void>;
  skip: number;
  times: number;
};

/** Faults that are planned; the first that fits a call happens. */
export function createFaults() {
  const planned: Planned[] = [];
  return {
    /** @param when.skip calls that fit before the first that fails; times: how often it happens, default once */
    plan: (
      fault: FakeFault,
      { skip = 0, times = 1 }: { readonly skip?: number; readonly times?: number } = {},
    ) => void planned.push({ fault: FakeFault.parse(fault), gate: Promise.withResolvers(), skip, times }),
    take: <Kind extends FakeFault['kind']>(kind: Kind, path: string) => {
      const found = planned.find(
        ({ fault, times }) => fault.kind === kind && times > 0 && path.endsWith(fault.at),
      );
      if (found === undefined) return undefined;
      if (found.skip > 0) {
        found.skip -= 1;
        return undefined;
      }
      found.times -= 1;
      const fault = found.fault as Extract<z.output<typeof FakeFault>, { readonly kind: Kind }>;
      return { fault, gate: found.gate };
    },
    /** Lets every call go on that is held, or planned to be. */
    release: () => {
      for (const { gate } of planned) gate.resolve();
    },
    /** Plans no further faults. */
    clear: () => {
      for (const one of planned) one.times = 0;
    },
  };
}
