import type { FastifyRequest } from 'fastify';
import type { ServiceError } from '../../../shared/runtime/errors.ts';
import { clientMessage } from './error-body.ts';

/** Whether a path belongs to Anthropic's API, even if the route does not exist. */
const isMessagesPath = (url: string): boolean => /^(?:\/v1)?\/messages(?:[/?]|$)/.test(url);

const isModelsPath = (url: string): boolean => /^(?:\/v1)?\/models(?:[/?]|$)/.test(url);

/**
 * Whether the client reads errors of Anthropic's API. The path of the models belongs to OpenAI's API, too: there a header
 * decides.
 */
export const readsMessagesErrors = ({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): boolean =>
  isMessagesPath(url) || (isModelsPath(url) && headers['anthropic-version'] !== undefined);

/** By status; other statuses below 500 are invalid requests, those from 500 on are server errors. */
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
    // clients compact when they see this prefix
    message:
      code === 'context_length_exceeded'
        ? `prompt is too long: ${message}`
        : clientMessage({ status, message }),
  },
  request_id: requestId,
});
