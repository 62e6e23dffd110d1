import { openSqliteLog, type SqliteLogOptions } from '../../shared/log/sqlite/open-sqlite-log.ts';

/** How the child processes of the contract suite open the log. */
export const openLog = (connection: SqliteLogOptions) => openSqliteLog(connection);
