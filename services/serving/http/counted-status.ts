import type { ServerResponse } from 'node:http';
import { ServingError } from '../errors.ts';

/** Statuses that differ from those sent, by response. */
const statuses = new WeakMap<ServerResponse, number>();

/** A stream begins with 200. If it reports a refusal, metrics and limits count it like any other refusal. */
export function countAs(response: ServerResponse, status: number): void {
  statuses.set(response, status);
}

/** The status that a response counts with; 499 if its client left before the headers were sent. */
export const countedStatus = (response: ServerResponse): number =>
  statuses.get(response) ?? (response.headersSent ? response.statusCode : ServingError.CLIENT_LEFT().status);
