import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';

/** Marks a folder or a prefix as a backup, and names its log. */
export const markerName = 'clawloop-backup.json';

const marker = z.object({ format: z.literal(1), logId: z.string() });

export const markerOf = (logId: string): string => `${JSON.stringify({ format: 1, logId })}\n`;

/**
 * @param text of the marker
 * @param place that holds the backups
 * @throws Refusal when the backups are of another log, or of a newer version
 */
export function requireMarkerOf(logId: string, text: string, place: string): void {
  const parsed = marker.safeParse(parseJson(text));
  if (!parsed.success)
    throw new Refusal(`${place}/${markerName} is damaged, or of another version: give another place`);
  if (parsed.data.logId !== logId)
    throw new Refusal(
      `${place} holds backups of another log, ${parsed.data.logId}; this log is ${logId}: give another place`,
    );
}
