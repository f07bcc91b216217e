/**
 * Runs the whole API with two additional routes. These routes measure the overhead that every route has (key, rate
 * limit, validation, headers, counting) without the work of a real route. Runs in a separate process.
 */
import { Body, Controller, Get, HttpCode, Module, Post, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IsNotEmpty, IsString, Length } from 'class-validator';
import { Pool } from 'pg';
import { AppModule } from '../src/api/app.module.js';
import { ReadModelsModule } from '../src/read-models/read-models.module.js';
import { readConfig } from '../src/runtime/config.js';
import { Access } from '../src/http/access/access.js';
import { Organization } from '../src/http/access/caller.js';
import { createServer } from '../src/http/server.js';
import { notifySupervisor, shutdownSignal, openTracing } from '../src/runtime/lifecycle.js';
import { FIND_BRAND } from './peer-statements.js';

class EchoRequest {
  @IsString({ message: 'content is required' })
  @Length(1, 4_096, { message: 'content must be 1 to 4,096 characters' })
  content!: string;
}

class BrandRequest {
  @IsString({ message: 'brand is required' })
  @IsNotEmpty({ message: 'brand is required' })
  brand!: string;
}

@Controller('v2/bench')
class BenchController {
  constructor(private readonly pool: Pool) {}

  @Post('echo')
  @HttpCode(200)
  @Access({ scope: 'read' })
  echo(@Organization() organization: string, @Body() { content }: EchoRequest) {
    return { organization, length: content.length };
  }

  @Get('brand')
  @Access({ scope: 'read' })
  async brand(@Organization() organization: string, @Query() { brand }: BrandRequest) {
    const { rows } = await this.pool.query<{ name: string }>({ ...FIND_BRAND, values: [organization, brand] });
    return { brand, name: rows[0]?.name };
  }
}

const config = readConfig();
await openTracing(config, 'threat-protection-bench', () => {});

@Module({ imports: [AppModule.with(config), ReadModelsModule], controllers: [BenchController] })
class BenchAppModule {}

const app = await NestFactory.create<NestFastifyApplication>(BenchAppModule, createServer(config), {
  logger: false,
  bodyParser: false,
  abortOnError: false,
});
shutdownSignal().addEventListener('abort', () => void app.close().finally(() => process.exit()));
await app.listen({ port: config.port, host: config.host });
notifySupervisor({ url: await app.getUrl() });
