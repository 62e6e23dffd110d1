import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort, startKafka } from '../../infra/kafka/start-kafka.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { dataFolder } from '../../shared/service/data-folder.ts';
import { LogConfig } from '../../shared/service/log-config.ts';
import { kafkaConnection, openLog } from '../../shared/service/open-log.ts';
import { readTopic, started } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';

/** TLS with a certificate of one's own, and a name and password, as the settings of a service say it. */
export function kafkaSecurity(): void {
  let brokers: string[];
  let caFile: string;

  describeWithKafka(
    'Kafka behind TLS and SASL',
    () => {
      const settings = (more: object = {}) =>
        LogConfig.parse({
          log: 'kafka',
          kafkaBrokers: brokers,
          kafkaPrefix: 'secured.',
          kafkaSsl: true,
          kafkaCaFile: caFile,
          kafkaSaslMechanism: 'plain',
          kafkaSaslUsername: 'clawloop',
          kafkaSaslPassword: 'a secret',
          ...more,
        });

      test('a log is written and read with certificate, name and password', async () => {
        const log = await openLog(settings(), dataFolder('/nowhere'), { partitions: 2 });
        await log.append([started('a', 0), started('a', 1)]);
        expect((await readTopic(log, 'conversations')).map(({ event }) => event.id)).toEqual(['a-0', 'a-1']);
        await log.close();
      });

      test('a wrong password, or a certificate that nobody vouches for, is refused with the reason', async () => {
        const wrong = await kafkaConnection(settings({ kafkaSaslPassword: 'another' }));
        await expect(openKafkaLog(wrong)).rejects.toMatchObject({
          name: 'LogUnavailable',
          message: expect.stringMatching(/authentication/i),
        });
        const untrusted = await kafkaConnection(settings({ kafkaCaFile: undefined }));
        await expect(openKafkaLog(untrusted)).rejects.toMatchObject({
          name: 'LogUnavailable',
          message: expect.stringMatching(/certificate/i),
        });
        await expect(kafkaConnection(settings({ kafkaSaslPassword: undefined }))).rejects.toThrow(
          'kafkaSaslPassword',
        );
      });
    },
    async (folder) => {
      const [port, controllerPort, secured] = [await freePort(), await freePort(), await freePort()];
      brokers = [`127.0.0.1:${secured}`];
      caFile = join(folder, 'certificate.pem');
      const keyFile = join(folder, 'server.pem');
      const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
      execFileSync('openssl', [...made, '-keyout', keyFile, '-out', caFile], { stdio: 'ignore' });
      appendFileSync(keyFile, readFileSync(caFile));
      const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
      return startKafka({
        folder,
        port,
        controllerPort,
        settings: {
          listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort},SASL_SSL://${brokers[0]}`,
          'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},SASL_SSL://${brokers[0]}`,
          'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL',
          'sasl.enabled.mechanisms': 'PLAIN',
          'listener.name.sasl_ssl.plain.sasl.jaas.config': `${login} user_clawloop="a secret";`,
          'ssl.keystore.type': 'PEM',
          'ssl.keystore.location': keyFile,
        },
      });
    },
  );
}
