import { expect, test } from 'vitest';
import { ServingError } from '../errors.ts';
import { isMessagesPath, messagesError } from './messages-error-body.ts';

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

test('paths of Anthropic’s API are recognised with and without /v1', () => {
  const paths = ['/v1/messages', '/messages', '/messages/count_tokens', '/v1/messages?beta=true'];
  expect(paths.every(isMessagesPath)).toBe(true);
  expect(['/v1/chat/completions', '/v1/messagesx', '/x/messages'].some(isMessagesPath)).toBe(false);
});
