import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { logExists } from '../../../shared/service/open-log.ts';
import type { CliConfig } from '../config.ts';
import { readTopic } from '../read-topic.ts';
import { exportSessions } from '../sessions-export/export-sessions.ts';
import { withLog } from '../with-log.ts';

const Line = z.looseObject({
  session_id: z.string(),
  loss_mask: z.array(z.int()),
  reward: z.number().nullable(),
});

/** Whether the log that the settings name is the one in which a session stands. */
async function holdsSession(settings: CliConfig, session: string): Promise<boolean> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return false;
  let found = false;
  await withLog(settings, (log) =>
    readTopic(log, 'conversations', ({ event }) => {
      found ||= event.type === 'session.started' && event.data.session === session;
    }),
  );
  return found;
}

/**
 * Exports sessions that have ended as soon as the collector has settled them, and says in a few lines what
 * stands in the export. Undefined where their log cannot be read from here.
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
      const sampled = loss_mask.filter((one) => one === 1).length;
      return `${session_id}: ${loss_mask.length} tokens, ${sampled} of them sampled, return ${reward}`;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
