import type { ServiceError } from '../../../shared/service/errors.ts';
import { toldMessage } from '../error-body.ts';

/** Whether a request is one of Anthropic's API, also where there is no such route. */
export const isMessagesPath = (url: string): boolean => /^(?:\/v1)?\/messages(?:[/?]|$)/.test(url);

/** By status; the rest are faults of the request below 500, and the server's own from there. */
const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** Anthropic's error shape. */
export const messagesError = ({ status, message, code }: ServiceError, requestId: string) => ({
  type: 'error',
  error: {
    type: types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'),
    // the words by which clients know that they must compact
    message:
      code === 'context_length_exceeded'
        ? `prompt is too long: ${message}`
        : toldMessage({ status, message }),
  },
  request_id: requestId,
});
