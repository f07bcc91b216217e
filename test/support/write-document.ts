/**
 * Writes the API reference of the build into the file that is named. The types in it come from a plugin of the build,
 * which Jest's transform does not know; nothing is started, so it takes no database and about a second.
 */
import { writeFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../../src/app.module.js';
import { readConfig } from '../../src/runtime/config.js';
import { createDocument } from '../../src/http/reference/document.js';
import { createServer } from '../../src/http/server.js';

const config = readConfig({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
const options = { preview: true, logger: false, bodyParser: false } as const;
const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config), createServer(config), options);
writeFileSync(process.argv[2]!, JSON.stringify(createDocument(app), null, 2));
