import { type KafkaLogOptions, openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';

/** How the child processes of the contract suite open the log. */
export const openLog = (connection: KafkaLogOptions) => openKafkaLog(connection);
