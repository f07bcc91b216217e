import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { eventually, eventuallyPasses } from './eventually.js';
import { queryOnce } from './query-once.js';
import { AUTHORITY, TlsProxy } from './tls-proxy.js';

/** What makes the database refuse connections, and how it is repaired. */
export interface Cause {
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** In the log. */
  readonly message: string;
  /** Whether the cause may end without a change of a setting, so that a process waits for its end at the start too. */
  readonly mayEnd?: boolean;
}

/** A database with a role of its own behind TLS, which can refuse connections for many causes. */
export class RefusingDatabase {
  /** By a description of the database that refuses. */
  readonly causes: Readonly<Record<string, Cause>>;
  private readonly suffix = randomBytes(6).toString('hex');
  private readonly role = `role_${this.suffix}`;
  private readonly database = `test_${this.suffix}`;
  private readonly server = new URL(process.env['TEST_DATABASE_URL']!);
  private readonly proxy = new TlsProxy({ host: this.server.hostname, port: Number(this.server.port) });
  private hbaFile = '';
  private hba = '';

  constructor(private readonly folder: string) {
    const { role, database } = this;
    const after = (statement: string) => async (): Promise<void> => {
      await this.sql(statement);
      await this.endSessions();
    };
    const close = after(`alter database ${database} allow_connections false`);
    const proxyAnswers = (answer: TlsProxy['answer']) => async (): Promise<void> => {
      this.proxy.answer = answer;
      this.proxy.drop();
    };
    this.causes = {
      'another password': {
        begin: after(`alter role ${role} password 'other'`),
        end: after(`alter role ${role} password 'good'`),
        message: 'correct the user and password in DATABASE_URL',
      },
      'a role that may not log in': {
        begin: after(`alter role ${role} nologin`),
        end: after(`alter role ${role} login`),
        message: 'is not permitted to log in',
      },
      'a missing role': {
        begin: after(`alter role ${role} rename to ${role}_away`),
        end: after(`alter role ${role}_away rename to ${role}`),
        message: 'correct the user and password in DATABASE_URL',
      },
      'a missing database': {
        begin: async () => {
          await close();
          await eventuallyPasses(async () => {
            await this.endSessions();
            await this.sql(`alter database ${database} rename to ${database}_away`);
          });
        },
        end: async () => {
          await this.sql(`alter database ${database}_away rename to ${database}`);
          await this.sql(`alter database ${database} allow_connections true`);
        },
        message: 'create the database, or correct its name in DATABASE_URL',
      },
      'a database that accepts no connections': {
        begin: close,
        end: after(`alter database ${database} allow_connections true`),
        message: 'let the database accept connections',
      },
      'a role without the right to connect': {
        begin: after(`revoke connect on database ${database} from public, ${role}`),
        end: after(`grant connect on database ${database} to ${role}`),
        message: 'grant connect, create on database NAME to ROLE',
      },
      'a rule of pg_hba.conf': {
        begin: () => this.setRules(`host all ${role} all reject\n`),
        end: () => this.setRules(''),
        message: 'pg_hba.conf rejects connection',
      },
      'too many connections of the role': {
        begin: after(`alter role ${role} connection limit 0`),
        end: after(`alter role ${role} connection limit -1`),
        message: 'too many connections for role',
        mayEnd: true,
      },
      'an untrusted certificate': {
        begin: proxyAnswers('untrusted'),
        end: proxyAnswers('trusted'),
        message: 'name the certificate authority of the server with sslrootcert=FILE',
      },
      'a certificate of another host': {
        begin: proxyAnswers('other host'),
        end: proxyAnswers('trusted'),
        message: 'name a host of the certificate in DATABASE_URL',
      },
      'an expired certificate': {
        begin: proxyAnswers('expired'),
        end: proxyAnswers('trusted'),
        message: 'certificate has expired',
        mayEnd: true,
      },
      'a server without TLS': {
        begin: proxyAnswers('none'),
        end: proxyAnswers('trusted'),
        message: 'enable TLS on the server',
      },
    };
  }

  /** Creates the database. @returns its `DATABASE_URL` */
  async create(): Promise<string> {
    await this.proxy.open();
    await this.sql(`create role ${this.role} login password 'good'`);
    await this.createDatabase(this.database);
    this.hbaFile = ((await this.sql('show hba_file')) as { hba_file: string }[])[0]!.hba_file;
    if (!existsSync(this.hbaFile))
      throw new Error(`The server of the specs must run on this machine: ${this.hbaFile} is missing`);
    this.hba = readFileSync(this.hbaFile, 'utf8');
    writeFileSync(this.authority, AUTHORITY);
    return this.urlOf(this.database);
  }

  /** Creates another database, which the role owns. @returns its `DATABASE_URL` */
  async createAnother(): Promise<string> {
    await this.createDatabase(`${this.database}_other`);
    return this.urlOf(`${this.database}_other`);
  }

  async drop(): Promise<void> {
    this.proxy.close();
    for (const name of [this.database, `${this.database}_other`])
      await this.sql(`drop database if exists ${name} with (force)`);
    await this.sql(`drop role if exists ${this.role}`);
  }

  /**
   * Reads a table as a backup does, so that whoever replaces the table waits.
   * @param databaseUrl one that this object has returned
   * @returns a function that ends the reading
   */
  async readLong(databaseUrl: string, table: string): Promise<() => Promise<void>> {
    const { pathname } = new URL(databaseUrl);
    const client = new Client({ connectionString: Object.assign(new URL(this.server), { pathname }).href });
    // A cause may end the session.
    client.on('error', () => {});
    await client.connect();
    await client.query(`begin; lock table ${table} in access share mode`);
    return () => client.end();
  }

  /** Whether a session of the role waits for a lock of a table. */
  async isWaiting(): Promise<boolean> {
    const waiting = await this.sql(
      `select from pg_stat_activity where usename = '${this.role}' and wait_event_type = 'Lock' and wait_event = 'relation'`,
    );
    return waiting.length > 0;
  }

  private get authority(): string {
    return join(this.folder, 'authority.pem');
  }

  private urlOf(database: string): string {
    const at = `${this.role}:good@127.0.0.1:${this.proxy.port}`;
    return `postgres://${at}/${database}?sslmode=verify-full&sslrootcert=${this.authority}`;
  }

  private sql(statement: string): Promise<unknown[]> {
    return queryOnce(this.server.href, statement);
  }

  private createDatabase(name: string): Promise<unknown> {
    return this.sql(`create database ${name} owner ${this.role}`);
  }

  private endSessions(): Promise<unknown> {
    return this.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${this.role}' or datname = '${this.database}'`,
    );
  }

  /** Puts rules before those of the server. */
  private async setRules(rules: string): Promise<void> {
    writeFileSync(this.hbaFile, rules + this.hba);
    await this.sql('select pg_reload_conf()');
    await eventually('the rules are read', async () => {
      const [first] = (await this.sql('select user_name from pg_hba_file_rules order by line_number limit 1')) as {
        user_name: string[];
      }[];
      return first!.user_name.includes(this.role) === (rules !== '');
    });
    await this.endSessions();
  }
}
