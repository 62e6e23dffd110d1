import { defined } from '../lang/defined.ts';

export type ErrorEntry = {
  /** HTTP status if the error reaches a client */
  readonly status: number;
  /** OpenAI's error type. */
  readonly type: 'invalid_request_error' | 'authentication_error' | 'rate_limit_error' | 'server_error';
  /** `{name}` is replaced from the details */
  readonly message: string;
};

/** An error from a service's table; `code` names its row. */
export type ServiceError = Error & {
  readonly code: string;
  readonly status: number;
  readonly type: ErrorEntry['type'];
  /** the request field at fault */
  readonly param: string | null;
  readonly retryAfterSeconds?: number;
};

type Details = Readonly<Record<string, string | number>> & {
  readonly param?: string;
  readonly retryAfterSeconds?: number;
};

const isOurs = Symbol('clawloop.error');

/** A service's table of errors: one `create` per code. */
export function errorTable<const Table extends Readonly<Record<string, ErrorEntry>>>(
  table: Table,
): { readonly [Code in keyof Table]: (details?: Details) => ServiceError } {
  const rows = Object.entries(table).map(([code, entry]) => [
    code,
    (details: Details = {}) => {
      const message = entry.message.replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? '?'));
      return Object.assign(new Error(message), {
        [isOurs]: true,
        name: code,
        code: code.toLowerCase(),
        status: entry.status,
        type: entry.type,
        param: details.param ?? null,
        ...defined({ retryAfterSeconds: details.retryAfterSeconds }),
      });
    },
  ]);
  return Object.fromEntries(rows);
}

export const isServiceError = (error: unknown): error is ServiceError =>
  typeof error === 'object' && error !== null && isOurs in error;
