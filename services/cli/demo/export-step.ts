import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { exportSessions } from '../../../clients/export/export-sessions.ts';
import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { readTopic } from '../../../shared/log/read-topic.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';

const Line = z.looseObject({
  session_id: z.string(),
  loss_mask: z.array(z.int()),
  reward: z.number().nullable(),
});

/** Whether the configured log contains a session. */
async function holdsSession(settings: CliConfig, session: string): Promise<boolean> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return false;
  let isFound = false;
  await withLog(settings, (log) =>
    readTopic(
      log,
      'conversations',
      ({ event }) => {
        isFound ||= event.type === 'session.started' && event.data.session === session;
      },
      new Set(['session.started']),
    ),
  );
  return isFound;
}

/**
 * Exports ended sessions as soon as the collector has settled them, and summarises the export in a few lines.
 * Undefined when their log cannot be read from here.
 */
export async function exportStep(
  settings: CliConfig,
  sessions: readonly string[],
): Promise<readonly string[] | undefined> {
  for (const session of sessions) if (!(await holdsSession(settings, session))) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-export-'));
  try {
    const out = join(folder, 'sessions.jsonl');
    await exportSessions(settings, sessions, { out, follow: true });
    const text = await readFile(out, 'utf8');
    const lines = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Line.parse(JSON.parse(line)));
    return lines.map(({ session_id, loss_mask, reward }) => {
      const sampled = loss_mask.filter((mask) => mask === 1).length;
      return `${session_id}: ${loss_mask.length} tokens, ${sampled} of them sampled, return ${reward}`;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
