import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { clawloop, startClawLoop, until } from '../e2e/harness/clawloop.ts';
import type { Client } from './client.ts';
import type { Launcher } from './install.ts';
import { emptyPlace } from './place.ts';
import { type Played, play } from './play.ts';
import type { Reply } from './upstream/script.ts';
import { scriptedUpstream } from './upstream/scripted-upstream.ts';
import { type Exchange, watchingProxy } from './watching-proxy.ts';

/** A turn in the output of `clawloop turns list --json`. */
const turn = z.object({
  turnId: z.string(),
  session: z.string(),
  rule: z.string(),
  answered: z.string(),
  reaction: z.string(),
  score: z.number().nullable().optional(),
  stage: z.looseObject({ kind: z.string(), reason: z.string().optional() }),
});
export type Turn = z.infer<typeof turn>;

/** The observations of a run with one program. */
export type Observed = {
  readonly client: Pick<Client, 'losesNextOf'>;
  readonly played: Played;
  readonly exchanges: readonly Exchange[];
  /** the model's replies in order, each with its turn; undefined: the log has no turn of it */
  readonly replies: readonly { readonly reply: Reply; readonly turn: Turn | undefined }[];
  /** output of `clawloop sessions show` for the session of the first main turn */
  readonly session: string;
  /** output of `clawloop audit` */
  readonly audit: string;
};

/** ms after the program's end within which every turn is attributed */
const SETTLE_MS = 60_000;

/**
 * Runs a program against its own ClawLoop with the scripted model as engine, and says all steps.
 *
 * @throws Error if ClawLoop does not start
 */
export async function observe(client: Client, launcher: Launcher): Promise<Observed> {
  const cleanUp: (() => Promise<unknown>)[] = [];
  const finallyDo = (dispose: () => Promise<unknown>) => cleanUp.unshift(dispose);
  try {
    const data = await mkdtemp(join(tmpdir(), 'clawloop-clients-'));
    finallyDo(() => rm(data, { recursive: true, force: true, maxRetries: 5 }));
    const upstream = await scriptedUpstream();
    finallyDo(upstream.close);
    const loop = await startClawLoop(data, flags(upstream.url));
    finallyDo(loop.stop);
    const proxy = await watchingProxy(loop.url);
    finallyDo(proxy.close);
    const place = await emptyPlace(launcher, proxy.url);
    finallyDo(place.dispose);
    const played = await play(client, place, upstream);
    const read = async () =>
      inOrder(
        upstream.served.map(({ reply }) => reply),
        await turnsOf(data),
      );
    const replies = await until(
      'every turn has its place',
      async () => {
        const found = await read();
        return found.filter(({ turn }) => isOpen(turn)).length <= 1 && found;
      },
      SETTLE_MS,
    ).catch(read);
    const [session, audit] = await Promise.all([
      print(data, 'sessions', 'show', sessionIn(replies)),
      print(data, 'audit'),
    ]);
    return { client, played, exchanges: proxy.exchanges, replies, session, audit };
  } finally {
    for (const dispose of cleanUp) await dispose();
  }
}

const flags = (upstream: string): readonly string[] => [
  '--serving-engine',
  'upstream',
  '--serving-upstream-url',
  `${upstream}/v1`,
  '--serving-upstream-token-ids',
  '--serving-upstream-logprobs',
  'raw',
  '--collector-batch-size',
  '1000', // larger than the run: nothing is trained here
];

const print = async (folder: string, ...argv: readonly string[]): Promise<string> => {
  const { stdout, stderr } = await clawloop([...argv, '--data-folder', folder]);
  return `${stdout}${stderr}`;
};

const turnsOf = async (folder: string): Promise<readonly Turn[]> =>
  (await print(folder, 'turns', 'list', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => turn.parse(JSON.parse(line)));

/** Answers are matched by their words; equal answers are matched in order. */
function inOrder(replies: readonly Reply[], turns: readonly Turn[]): Observed['replies'] {
  const left = [...turns];
  return replies.map((reply) => {
    const at = left.findIndex(({ answered }) => isOf(answered, reply));
    return { reply, turn: at < 0 ? undefined : left.splice(at, 1)[0] };
  });
}

/** A stopped answer is the beginning of the whole one. */
const isOf = (answered: string, { text, slow }: Reply): boolean =>
  slow ? answered !== '' && text.startsWith(answered.trim()) : answered.trim() === text.trim();

const isOpen = (found: Turn | undefined): boolean =>
  found === undefined ||
  (found.stage.kind.startsWith('waiting-for-') && found.stage.kind !== 'waiting-for-batch');

const sessionIn = (replies: Observed['replies']): string =>
  replies.find(({ reply, turn }) => reply.kind === 'conversation' && turn?.session)?.turn?.session ?? '';
