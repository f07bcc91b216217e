import { Controller, HttpCode, Options, Res, type Type } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access, type Requirement } from '../http/access/access.js';
import { LISTS_PATH, SAFE_BROWSING_PATH } from '../http/access/request-key.js';

const METAMASK = `${LISTS_PATH}/:name/metamask`;
const PATHS = [
  LISTS_PATH,
  `${LISTS_PATH}/:name`,
  `${METAMASK}/v1/stalelist`,
  `${METAMASK}/v2/diffsSince/:second`,
  `${METAMASK}/v1/request-blocklist`,
  `${SAFE_BROWSING_PATH}/hashLists::batchGet`,
  `${SAFE_BROWSING_PATH}/hashList/:name`,
  `${SAFE_BROWSING_PATH}/hashes::search`,
];

/**
 * Creates the routes that answer a browser's question whether the script of a page may send the headers of a request for
 * lists. @param access as for all local lists
 */
export const preflightController = (access: Requirement): Type => {
  @Controller()
  class PreflightController {
    @Options(PATHS)
    @HttpCode(204)
    @Access({ ...access, isPublic: true })
    @ApiExcludeEndpoint()
    preflight(@Res({ passthrough: true }) reply: FastifyReply): void {
      void reply.headers({
        'access-control-allow-methods': 'GET',
        'access-control-allow-headers': 'X-API-KEY, If-None-Match, Prefer',
        'access-control-max-age': '86400',
      });
    }
  }
  return PreflightController;
};
