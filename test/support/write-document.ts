/**
 * Writes the API reference of the build into a file. This must be a built program, because the types in the reference
 * come from a compiler plugin that Jest does not use. The program needs no database.
 */
import { writeFileSync } from 'node:fs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../../src/api/app.module.js';
import { readConfig } from '../../src/runtime/config.js';
import { createDocument } from '../../src/http/reference/document.js';
import { createServer } from '../../src/http/server.js';

const config = readConfig({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
const options = { preview: true, logger: false, bodyParser: false } as const;
const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config), createServer(config), options);
writeFileSync(process.argv[2]!, JSON.stringify(createDocument(app), null, 2));
