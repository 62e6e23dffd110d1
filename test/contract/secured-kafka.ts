import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import kafkajs from 'kafkajs';
import { type KafkaNode, startKafka } from '../../infra/kafka/start-kafka.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { freePort } from '../../shared/runtime/free-port.ts';
import { until } from './event-log-fixtures.ts';

const { AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs;

export type SecuredKafka = KafkaNode & {
  /** `host:port` behind TLS and SASL PLAIN: user `clawloop`, password `a secret`. */
  readonly secured: string;
  /** The certificate to trust, PEM. */
  readonly caFile: string;
};

/**
 * A Kafka with its own certificate, a user name and a password. `brokers` need no login, as in startKafka, and have all
 * rights, including that to revoke rights of the user.
 */
export async function startSecuredKafka(folder: string): Promise<SecuredKafka> {
  const [port, controllerPort, securedPort] = [await freePort(), await freePort(), await freePort()];
  const secured = `127.0.0.1:${securedPort}`;
  const caFile = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'server.pem');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
  execFileSync('openssl', [...made, '-keyout', keyFile, '-out', caFile], { stdio: 'ignore' });
  appendFileSync(keyFile, readFileSync(caFile));
  const login = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
  const node = await startKafka({
    folder,
    port,
    controllerPort,
    settings: {
      listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort},SASL_SSL://${secured}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},SASL_SSL://${secured}`,
      'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL',
      'sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.sasl_ssl.plain.sasl.jaas.config': `${login} user_clawloop="a secret";`,
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keyFile,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
      'super.users': 'User:ANONYMOUS',
    },
  });
  // the first handshake of a cold JVM may take longer than a client waits
  const first = connect({ host: '127.0.0.1', port: securedPort, ca: readFileSync(caFile) });
  await once(first, 'secureConnect');
  first.destroy();
  return { ...node, secured, caFile };
}

/**
 * Takes one right of the user away, on everything of a type whose name begins so.
 * @param brokers of the node, which need no login
 * @param denied operation
 */
export async function allowAllBut(
  brokers: readonly string[],
  [resourceType, resourceName]: readonly [type: number, prefix: string],
  denied: number,
): Promise<void> {
  const admin = connectTo({ brokers }).kafka.admin();
  await admin.connect();
  const { ALLOW, DENY } = AclPermissionTypes;
  const rule = (operation: number, permissionType: number) => ({
    resourceType,
    resourceName,
    operation,
    permissionType,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    principal: 'User:clawloop',
    host: '*',
  });
  await admin.createAcls({ acl: [rule(AclOperationTypes.ALL, ALLOW), rule(denied, DENY)] });
  // The broker learns the rules a moment after the controller accepts them.
  await until(async () => (await admin.describeAcls(rule(denied, DENY))).resources.length > 0);
  await admin.disconnect();
}
