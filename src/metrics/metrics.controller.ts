import { Controller, Get, Query, Res } from '@nestjs/common';
import { type Query as MetricsQuery, QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { TimeSlices } from '../flow/turns.js';
import { Access } from '../http/access/access.js';
import { Organization } from '../http/access/caller.js';
import { preferredType } from '../http/responses/accept.js';
import { MinPosition, ConsistencyTokens } from '../http/consistency.js';
import { ApiFailure } from '../http/errors/error-body.dto.js';
import {
  ApiSnapshot,
  CSV,
  type AsOf,
  JSON_TYPE,
  PAST_HEADERS,
  sendSnapshot,
  sharedText,
} from '../http/responses/send-snapshot.js';
import { CompareMetrics } from './compare-metrics.js';
import {
  FalsePositives,
  FalsePositivesRequest,
  Metrics,
  MetricsAtRequest,
  MetricsRequest,
  TakedownStatistics,
  Timeline,
  TimelineRequest,
} from './metrics.dto.js';
import { Comparison, ComparisonRequest } from './comparison.dto.js';
import { MAX_DAYS, MAX_TYPES } from './count-sql.js';
import { GetFalsePositives } from './get-false-positives.js';
import { GetMetrics } from './get-metrics.js';
import { GetTakedownStatistics } from './get-takedown-statistics.js';
import { GetTimeline, timelineCsv, timelineJson } from './get-timeline.js';
import { KnownMoments } from './known-moments.js';
import { readRange } from '../http/parameters.js';
import { MAX_CELLS, MAX_POINTS } from './timeline-sql.js';

const CSV_EXAMPLE =
  'start,end,reports,newThreats,threatsWatchlisted,takedownsFiled,takedownsCompleted,byType.URL\r\n' +
  '2026-01-05T00:00:00.000Z,2026-01-11T23:59:59.999Z,57,1204,31,112,98,1204\r\n';
/** `brands-and-flags` is read by `checkBrand`. */
const READS = ['metrics', 'takedowns', 'brands-and-flags'] as const;
const TOO_MANY_COUNTS = `The points have more than ${MAX_CELLS} counts by type in total.`;

@ApiTags('Metrics')
@Controller('v2/organization')
export class MetricsController {
  constructor(
    private readonly queries: QueryBus,
    private readonly slices: TimeSlices,
    private readonly tokens: ConsistencyTokens,
    private readonly moments: KnownMoments,
  ) {}

  @Get('metrics')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Get the metrics of the organization or of one of its brands',
    description:
      'Returns reports, blocked threats, watchlisted threats and takedowns, counted at the time of the request. The range ' +
      'is exact to the millisecond; days are UTC days. With `knownAt`, the counts are those that were known at that time, and ' +
      'the response has the header `Known-At` instead of a `Consistency-Token`.',
  })
  @ApiSnapshot(Metrics, {}, 'brand', PAST_HEADERS)
  @ApiFailure(422, `The range has more than ${MAX_DAYS} days or ${MAX_TYPES} asset types with a blocked threat.`)
  async getMetrics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug, knownAt }: MetricsAtRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    const range = readRange(startDate, endDate);
    const known = knownAt === undefined ? undefined : await this.moments.read('knownAt', knownAt, READS, reply);
    return this.send(new GetMetrics({ organization, range, brand: brandSlug, minPosition, known }), reply);
  }

  @Get('metrics/timeline')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Get the metrics by day, week, month, quarter or year',
    description:
      `The points add up to the metrics of the same range. A request for more than ${MAX_POINTS} points returns 400. With ` +
      '`Accept: text/csv` the response is the table of `metrics/timeline.csv`.',
  })
  @ApiSnapshot(Timeline)
  @ApiFailure(422, TOO_MANY_COUNTS)
  getTimeline(
    @Organization() organization: string,
    @Query() request: TimelineRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    void reply.header('vary', 'X-API-KEY, Accept');
    const isCsv = preferredType(reply.request.headers.accept, ['application/json', 'text/csv']) === 'text/csv';
    return this.answerTimeline(organization, request, isCsv, reply, minPosition);
  }

  /** The CSV export is a separate operation, because generated clients support only one response type per operation. */
  @Get('metrics/timeline.csv')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Export the metrics by day, week, month, quarter or year as a table',
    description:
      'The response is RFC 4180 CSV, with one line per point and one column `byType.TYPE` per asset type with a blocked threat.',
  })
  @ApiSnapshot(undefined, { 'text/csv': CSV_EXAMPLE })
  @ApiFailure(422, TOO_MANY_COUNTS)
  getTimelineTable(
    @Organization() organization: string,
    @Query() request: TimelineRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    return this.answerTimeline(organization, request, true, reply, minPosition);
  }

  @Get('metrics/comparison')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Compare the metrics of a range with those of an earlier range',
    description:
      'Both ranges are from one snapshot and exact to the millisecond. Returns the difference and the ratio of each metric.',
  })
  @ApiSnapshot(Comparison)
  compareMetrics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug, with: earlier = 'previous' }: ComparisonRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    const query = { organization, range: readRange(startDate, endDate), brand: brandSlug, earlier, minPosition };
    return this.send(new CompareMetrics(query), reply);
  }

  @Get('metrics/false-positives')
  @Access({ scope: 'read', reads: ['metrics', 'register'] })
  @ApiOperation({
    summary: 'Get the rate of false positives, and the outcomes of disputes',
    description:
      'Counts the threats that were first counted in the range, and those of them that no longer count. The range is exact ' +
      'to the millisecond; days are UTC days. The disputes are those that the organization filed in the range.',
  })
  @ApiSnapshot(FalsePositives)
  @ApiFailure(422, `The range has more than ${MAX_DAYS} days or ${MAX_TYPES} asset types with a counted threat.`)
  getFalsePositives(
    @Organization() organization: string,
    @Query() { startDate, endDate }: FalsePositivesRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    const range = readRange(startDate, endDate);
    return this.send(new GetFalsePositives({ organization, range, minPosition }), reply);
  }

  @Get('takedowns/statistics')
  @Access({ scope: 'read', reads: READS })
  @ApiOperation({
    summary: 'Get the outcomes and durations of takedowns',
    description:
      'The outcomes cover the takedowns that were filed in the range (`takedownsFiled` in the metrics). The durations ' +
      'cover the takedowns that were completed in the range.',
  })
  @ApiSnapshot(TakedownStatistics)
  @ApiFailure(422, `Takedowns of more than ${MAX_TYPES} asset types were completed in the range.`)
  getTakedownStatistics(
    @Organization() organization: string,
    @Query() { startDate, endDate, brandSlug }: MetricsRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @MinPosition() minPosition?: number,
  ): Promise<string | undefined> {
    const range = readRange(startDate, endDate);
    return this.send(new GetTakedownStatistics({ organization, range, brand: brandSlug, minPosition }), reply);
  }

  private async answerTimeline(
    organization: string,
    { startDate, endDate, brandSlug, interval = 'day' }: TimelineRequest,
    isCsv: boolean,
    reply: FastifyReply,
    minPosition: number | undefined,
  ): Promise<string | undefined> {
    const query = { organization, range: readRange(startDate, endDate), brand: brandSlug, interval, minPosition };
    const work = isCsv ? timelineCsv : timelineJson;
    return this.send(new GetTimeline(query), reply, isCsv ? CSV : JSON_TYPE, (timeline) =>
      this.slices.run(organization, work(timeline)),
    );
  }

  private async send<Result>(
    query: MetricsQuery<AsOf<Result>> & { readonly organization: string },
    reply: FastifyReply,
    type = JSON_TYPE,
    make: (result: Result) => string | Promise<string> = (result) => JSON.stringify(result),
  ): Promise<string | undefined> {
    const snapshot = await this.queries.execute(query);
    const { asOf, position, knownAt } = snapshot;
    const content = await sharedText(snapshot, type, make);
    // Requests that share the result resume together, and writing each of their responses takes time.
    await this.slices.waitForTurn(query.organization);
    return sendSnapshot({ type, ...content, asOf, position, knownAt }, this.tokens, reply);
  }
}
