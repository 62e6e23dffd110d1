import { isServiceError, type ServiceError } from '../../shared/service/errors.ts';
import { withoutPlaces } from '../../shared/service/without-places.ts';
import { ServingError } from './errors.ts';

/** OpenAI's error shape. */
export const errorBody = (error: ServiceError) => ({
  error: { message: toldMessage(error), type: error.type, param: error.param, code: error.code },
});

/** What a client hears: of our own faults neither paths nor digests, which are in the log. */
export const toldMessage = ({ status, message }: Pick<ServiceError, 'status' | 'message'>): string =>
  status < 500 ? message : withoutPlaces(message);

type HttpError = Error & { readonly code?: string; readonly statusCode?: number };

/**
 * Any error as one of the table: what Fastify found wrong with a request keeps its meaning, the rest is
 * ours.
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
