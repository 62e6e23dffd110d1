import { expect, test } from 'vitest';
import { brokerRefusal, countRefusals } from './broker-refusal.ts';
import { unavailable } from './kafka-errors.ts';

/** kafkajs' types keep the makers of most of its errors to themselves. */
const named = (name: string, message: string) => Object.assign(new Error(message), { name });
const connection = (message: string, code: string) =>
  Object.assign(named('KafkaJSConnectionError', message), { code });
const afterRetries = (cause: Error) =>
  Object.assign(named('KafkaJSNumberOfRetriesExceeded', cause.message), { cause });

test("the broker's refusal is found under the errors that wrap it", () => {
  const password = named('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed');
  expect(brokerRefusal(unavailable('reading', password))).toContain('authentication failed');
  const certificate = afterRetries(
    connection('Connection error: self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'),
  );
  expect(brokerRefusal(unavailable('reading', certificate))).toContain('self-signed certificate');
  const topic = Object.assign(named('KafkaJSCreateTopicError', 'no right'), {
    type: 'TOPIC_AUTHORIZATION_FAILED',
  });
  const topics = Object.assign(named('KafkaJSAggregateError', 'Topic creation errors'), { errors: [topic] });
  expect(brokerRefusal(unavailable('creating topics', topics))).toBe('no right');
});

test('an unreachable broker does not count as a refusal', () => {
  const away = afterRetries(connection('Connection error: connect ECONNREFUSED', 'ECONNREFUSED'));
  expect(brokerRefusal(unavailable('reading', away))).toBeUndefined();
  expect(brokerRefusal('no error at all')).toBeUndefined();
});

test('a starting broker may refuse twice; the third refusal in a row counts', () => {
  const refusals = countRefusals('the fold');
  const no = Object.assign(named('KafkaJSProtocolError', 'Not authorized'), {
    type: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  });
  refusals.failed(no);
  refusals.failed(no);
  refusals.failed(new Error('away'));
  refusals.failed(no);
  refusals.failed(no);
  refusals.worked();
  refusals.failed(no);
  refusals.failed(no);
  expect(() => refusals.failed(no)).toThrow('the broker refuses the fold: Not authorized');
});
