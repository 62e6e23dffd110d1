import { z } from 'zod';

/** Settings of the log, taken by every service and by commands that read it. */
export const LogConfig = z.object({
  log: z
    .enum(['sqlite', 'kafka'])
    .default('sqlite')
    .describe(
      'sqlite: a file in the data folder, for one machine; kafka: a Kafka cluster, for any number of machines',
    ),
  kafkaBrokers: z
    .array(z.string().regex(/^[^\s:]+:\d+$|^\[[^\]]+\]:\d+$/, 'must be host:port, such as 127.0.0.1:9092'))
    .min(1)
    .default(['127.0.0.1:9092'])
    .describe('kafka: addresses of one or more brokers, host:port, separated by commas'),
  kafkaPrefix: z
    .string()
    .regex(/^[\w.-]*$/)
    .default('clawloop.')
    .describe('kafka: prefix of all topics and groups; one per deployment'),
  kafkaSsl: z.boolean().default(false).describe('kafka: use TLS'),
  kafkaCaFile: z
    .string()
    .optional()
    .describe('kafka: PEM file with the certificate authorities of the brokers'),
  kafkaSaslMechanism: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
    .optional()
    .describe('kafka: SASL mechanism; default: no login'),
  kafkaSaslUsername: z.string().optional().describe('kafka: SASL user name'),
  kafkaSaslPassword: z.string().optional().describe('kafka: SASL password'),
});
export type LogConfig = z.output<typeof LogConfig>;
