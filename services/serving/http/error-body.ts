import { isServiceError, type ServiceError } from '../../../shared/runtime/errors.ts';
import { withoutPlaces } from '../../../shared/runtime/without-places.ts';
import { ServingError } from '../errors.ts';

/** OpenAI's error shape. */
export const errorBody = (error: ServiceError) => ({
  error: { message: clientMessage(error), type: error.type, param: error.param, code: error.code },
});

/** The message for the client. Server errors contain no paths or digests; the log has them. */
export const clientMessage = ({ status, message }: Pick<ServiceError, 'status' | 'message'>): string =>
  status < 500 ? message : withoutPlaces(message);

type HttpError = Error & { readonly code?: string; readonly statusCode?: number };

/**
 * Converts any error to one of the table. Client errors that Fastify found keep their meaning; others become
 * `INTERNAL`.
 */
export function asServingError(error: unknown, maxBodyBytes: number): ServiceError {
  if (isServiceError(error)) return error;
  const { code, statusCode, message } = error as HttpError;
  if (statusCode === 413) return ServingError.BODY_TOO_LARGE({ limit: maxBodyBytes });
  if (statusCode === 415) return ServingError.UNSUPPORTED_MEDIA_TYPE();
  if (code?.startsWith('FST_ERR_CTP_')) return ServingError.INVALID_JSON();
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return ServingError.INVALID_REQUEST({ detail: message });
  }
  return ServingError.INTERNAL();
}
