import { expect, test } from 'vitest';
import { brokerRefusal } from './broker-refusal.ts';
import { unavailable } from './kafka-errors.ts';

/** kafkajs' types keep the makers of most of its errors to themselves. */
const named = (name: string, message: string) => Object.assign(new Error(message), { name });
const connection = (message: string, code: string) =>
  Object.assign(named('KafkaJSConnectionError', message), { code });
const afterRetries = (cause: Error) =>
  Object.assign(named('KafkaJSNumberOfRetriesExceeded', cause.message), { cause });

test('what a broker says no with is found under what stands around it', () => {
  const password = named('KafkaJSSASLAuthenticationError', 'SASL PLAIN authentication failed');
  expect(brokerRefusal(unavailable('reading', password))).toContain('authentication failed');
  const certificate = afterRetries(
    connection('Connection error: self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'),
  );
  expect(brokerRefusal(unavailable('reading', certificate))).toContain('self-signed certificate');
});

test('a broker that is away has refused nothing', () => {
  const away = afterRetries(connection('Connection error: connect ECONNREFUSED', 'ECONNREFUSED'));
  expect(brokerRefusal(unavailable('reading', away))).toBeUndefined();
  expect(brokerRefusal('no error at all')).toBeUndefined();
});
