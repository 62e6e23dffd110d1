import { expect, test } from 'vitest';
import { ServingError } from '../errors.ts';
import { messagesError, readsMessagesErrors } from './messages-error-body.ts';

test('every error has a type of Anthropic’s API', () => {
  const typeOf = (code: keyof typeof ServingError) => messagesError(ServingError[code](), 'req_1').error.type;
  expect(typeOf('INVALID_REQUEST')).toBe('invalid_request_error');
  expect(typeOf('METHOD_NOT_ALLOWED')).toBe('invalid_request_error');
  expect(typeOf('INVALID_API_KEY')).toBe('authentication_error');
  expect(typeOf('HOST_NOT_LOOPBACK')).toBe('permission_error');
  expect(typeOf('MODEL_NOT_FOUND')).toBe('not_found_error');
  expect(typeOf('BODY_TOO_LARGE')).toBe('request_too_large');
  expect(typeOf('ENGINE_BUSY')).toBe('rate_limit_error');
  expect(typeOf('STOPPING')).toBe('overloaded_error');
  expect(typeOf('UPSTREAM_FAILED')).toBe('api_error');
  const tooLong = ServingError.CONTEXT_LENGTH_EXCEEDED({ limit: 1, tokens: 2 });
  expect(messagesError(tooLong, 'req_1')).toMatchObject({
    type: 'error',
    request_id: 'req_1',
    error: { message: expect.stringMatching(/^prompt is too long: .*maximum context length is 1 tokens/) },
  });
});

test('errors have Anthropic’s shape on its paths, and for its clients on the path that both APIs have', () => {
  const reads = (url: string, headers = {}) => readsMessagesErrors({ url, headers });
  const own = ['/v1/messages', '/messages', '/messages/count_tokens', '/v1/messages?beta=true'];
  expect(own.every((url) => reads(url))).toBe(true);
  const both = ['/v1/models', '/models', '/v1/models/x', '/v1/models?limit=9'];
  expect(both.some((url) => reads(url))).toBe(false);
  const version = { 'anthropic-version': '2023-06-01' };
  expect(both.every((url) => reads(url, version))).toBe(true);
  const others = ['/v1/chat/completions', '/v1/messagesx', '/x/messages', '/v1/modelsx'];
  expect(others.some((url) => reads(url, version))).toBe(false);
});
