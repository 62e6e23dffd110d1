import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { AccessKey } from '../../../shared/runtime/access-keys.ts';
import { ConsoleError } from '../errors.ts';
import { peopleIn, sessionsIn } from '../model/people.ts';
import { startCli } from '../run-cli.ts';
import type { ConsoleDeps } from './console-deps.ts';
import { pageQuery, readQuery } from './read-query.ts';
import type { People, SessionPage } from './shapes.ts';

/** Characters of a command's errors that are shown. */
const ERROR_LENGTH = 500;

/** Keys, the people behind them, and sessions. */
export function registerPeople(server: FastifyInstance, deps: ConsoleDeps): void {
  const { storedKeys, model, cached } = deps;

  server.get('/api/people', async (): Promise<People> => {
    const keys = await storedKeys.list().catch((cause: unknown) => {
      throw Object.assign(ConsoleError.KEYS_UNREADABLE({ retryAfterSeconds: 5 }), { cause });
    });
    return { keys: keys.map(keyItem), people: cached('people', () => peopleIn(model.turns)) };
  });

  server.get('/api/sessions', async (request): Promise<SessionPage> => {
    const page = readQuery(pageQuery, request);
    return cached(`sessions ${JSON.stringify(page)}`, () => sessionsIn(model.turns, page));
  });

  let isExporting = false;
  server.get<{ Querystring: { session?: string } }>('/api/export', async (request, reply) => {
    const { session = '' } = request.query;
    if (session !== '' && model.session(session) === undefined)
      throw ConsoleError.NOT_FOUND({ what: `session '${session.slice(0, 200)}'` });
    if (isExporting) throw ConsoleError.BUSY({ what: 'An export' });
    isExporting = true;
    const { output, ended } = startExport(deps, session, reply);
    void ended.then(() => {
      isExporting = false;
    });
    await once(output, 'readable').catch((error: Error) => {
      throw ConsoleError.EXPORT_FAILED({ detail: error.message });
    });
    return reply
      .type('application/jsonl')
      .header('content-disposition', 'attachment; filename="sessions.jsonl"')
      .send(output);
  });
}

/**
 * `clawloop sessions export`: the ended sessions with rewards, as JSONL. The output breaks off with an error if the
 * command fails, so that a part is never taken for the whole.
 */
function startExport(
  { config, stopping }: ConsoleDeps,
  session: string,
  reply: FastifyReply,
): { readonly output: PassThrough; readonly ended: Promise<void> } {
  const words = session === '' ? [] : ['--', session];
  const child = startCli(['sessions', 'export', ...words], config);
  const stop = () => child.kill('SIGTERM');
  stopping.addEventListener('abort', stop, { once: true });
  reply.raw.once('close', stop);
  const output = child.stdout!.pipe(new PassThrough(), { end: false });
  let errors = '';
  child.stderr!.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-ERROR_LENGTH)));
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const end = (error: Error | undefined) => {
    stopping.removeEventListener('abort', stop);
    if (error === undefined) output.end();
    else output.destroy(error);
    resolve();
  };
  child.once('error', end);
  child.once('close', (code) =>
    end(code === 0 ? undefined : new Error(errors.trim() || `it ended with ${code}`)),
  );
  return { output, ended };
}

const keyItem = (key: AccessKey): People['keys'][number] => ({
  id: key.id,
  name: key.name,
  adapter: key.adapter ?? null,
  isOperator: key.operator === true,
  createdAt: key.createdAt,
  expiresAt: key.expiresAt ?? null,
  limits: [
    [key.requestsPerMinute, 'requests per minute'],
    [key.tokensPerMinute, 'tokens per minute'],
    [key.tokensPerDay, 'tokens per day'],
  ]
    .flatMap(([limit, unit]) => (limit === undefined ? [] : [`${limit} ${unit}`]))
    .join(', '),
});
