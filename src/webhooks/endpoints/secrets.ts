import { Injectable, Logger } from '@nestjs/common';
import { Unavailable } from '../../errors.js';
import type { Webhook } from '../../events/types/webhooks.js';
import { Config, ConfigError } from '../../runtime/config.js';
import { type MasterKeys, openMasterKeys } from '../master-keys.js';
import { secretText, signingKey } from '../secret.js';

const RETRY_AFTER_SECONDS = 60;

/**
 * Derives the secrets of webhook endpoints. A secret is shown only in the response to the request that created or
 * rotated it.
 */
@Injectable()
export class Secrets {
  private readonly logger = new Logger('webhooks');
  private readonly keys: MasterKeys | undefined;

  /** @throws ConfigError if the file of the master keys cannot be used */
  constructor(config: Config) {
    this.keys = openMasterKeys(config);
  }

  /**
   * Returns the id of the master key for new secrets.
   * @throws Unavailable if this installation has no master key
   */
  newestKey(): string {
    return this.useKeys((keys) => keys.newest().id);
  }

  /** Returns the current secret of an endpoint. @throws Unavailable if the master key of the secret is missing */
  secretOf({ webhookId, generation, masterKey }: Webhook): string {
    return this.useKeys((keys) => {
      const key = keys.find(masterKey);
      if (key === undefined) throw new ConfigError(`WEBHOOK_MASTER_KEY_FILE has no key ${masterKey}`);
      return secretText(signingKey(key, { webhookId, generation }));
    });
  }

  private useKeys<T>(work: (keys: MasterKeys) => T): T {
    try {
      if (this.keys === undefined) throw new ConfigError('WEBHOOK_MASTER_KEY_FILE is not set');
      return work(this.keys);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.logger.warn(`Cannot derive the secrets of webhooks: ${error.message}`);
      throw new Unavailable(
        'Webhooks are not configured: the operator must set WEBHOOK_MASTER_KEY_FILE to a file with the master keys',
        RETRY_AFTER_SECONDS,
      );
    }
  }
}
