import { createLeaseClient } from '../../../clients/lease-client.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { formatTable } from '../../../shared/runtime/table.ts';
import { endpointSettings } from '../config.ts';
import { readOptions } from '../options.ts';
import { endpointHere } from '../up/endpoint-here.ts';

/** `clawloop env list`: prints the environments in use. Resolves to the exit code. */
export async function listEnvironments(argv: readonly string[]): Promise<number> {
  const { values, settings } = readOptions(argv, { url: { type: 'string' }, key: { type: 'string' } });
  const url = values.url ?? endpointHere(settings.dataFolder);
  const listed = await createLeaseClient(url, values.key ?? endpointSettings([]).apiKey).list();
  if (listed.kind === 'silent') throw new UsageError(`no answer from ${url}: ${listed.reason}`);
  if (listed.kind === 'refused') throw new UsageError(listed.message);
  const rows = listed.value.data.map((lease) => [
    lease.environment,
    lease.task,
    lease.attempt,
    lease.session_id,
    lease.host,
    lease.leased_at,
    lease.actions,
  ]);
  if (rows.length === 0) console.log('no environment is in use');
  else console.log(formatTable(['kind', 'task', 'attempt', 'session', 'host', 'leased at', 'actions'], rows));
  return 0;
}
