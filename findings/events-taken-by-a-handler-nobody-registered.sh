#!/usr/bin/env bash
# Nest CQRS 12: a handler that is only declared takes the events of a subclass away from the handler of the base class.
# Guess: events of a subclass reach the handler of the base class whatever other handlers exist, or never reach it.
# Seen with @nestjs/cqrs 12.0.0: they reach it until any file that is loaded declares a handler of the subclass. From
# then on they reach that handler only, and if no module provides it, nobody. There is no error and no warning. A
# projector of a base event stops being told of a kind of event as soon as somebody imports a handler of that kind.
set -euo pipefail
cd "$(mktemp -d)"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @nestjs/common@12.5.1 @nestjs/core@12.5.1 @nestjs/cqrs@12.0.0 \
  reflect-metadata@0.2.2 rxjs@7.8.2
cat >seen.mjs <<'JS'
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CqrsModule, EventBus, EventsHandler } from '@nestjs/cqrs';
class Reported {}
class ReportedByPartner extends Reported {}
const declare = (event, name) => {
  const handler = class { handle() { handled.push(name); } };
  EventsHandler(event)(handler);
  return handler;
};
let handled = [];
const publish = async (when, ...providers) => {
  class App {}
  Module({ imports: [CqrsModule.forRoot()], providers })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  await app.get(EventBus).publish(new ReportedByPartner());
  await app.close();
  console.log(`${when}: ${handled.join(' and ') || 'nobody'}`);
  handled = [];
};
const base = declare(Reported, 'base');
await publish('one handler declared', base);
const derived = declare(ReportedByPartner, 'derived');
await publish('second one declared', base);
await publish('second one provided', base, derived);
JS
node seen.mjs | tee seen.txt
diff seen.txt - <<'TXT'
one handler declared: base
second one declared: nobody
second one provided: derived
TXT
