#:package Marten@9.58.0
#:property PublishAot=false
// A peer of G29: appends events with Marten, and counts them with its asynchronous daemon. It prints "ready" when the
// daemon runs, waits for a line, prints "counted" when every event is counted, and ends after another line.
// Arguments: a connection string, and the file of events that event-peers.ts writes.
using System.Text.Json;
using JasperFx.Events;
using JasperFx.Events.Projections;
using Marten;
using Marten.Events.Projections;
using Npgsql;

Type[] types = [typeof(ThreatStatusChanged), typeof(ThreatDeleted), typeof(ReportFiled), typeof(TakedownFiled)];
await using (var source = NpgsqlDataSource.Create(args[0]))
await using (var command = source.CreateCommand(Counts.Tables))
    await command.ExecuteNonQueryAsync();
using var store = DocumentStore.For(options =>
{
    options.Connection(args[0]);
    options.DisableNpgsqlLogging = true;
    options.Events.StreamIdentity = StreamIdentity.AsString;
    options.Events.AppendMode = EventAppendMode.Quick;
    options.Events.AddEventTypes(types);
    options.Projections.Add(new Counts(), ProjectionLifecycle.Async, "counts");
});
await store.Storage.ApplyAllConfiguredChangesToDatabaseAsync();
using var daemon = await store.BuildProjectionDaemonAsync();
await daemon.StartAllAsync();
Console.WriteLine("ready");
Console.ReadLine();
foreach (var lines in File.ReadLines(args[1]).Chunk(1_000))
{
    await using var session = store.LightweightSession();
    foreach (var line in lines)
    {
        using var json = JsonDocument.Parse(line);
        var sent = json.RootElement.GetProperty("event");
        var type = types.Single(type => sent.GetProperty("type").ValueEquals(type.Name));
        var data = sent.GetProperty("data").Deserialize(type, JsonSerializerOptions.Web)!;
        session.Events.Append(json.RootElement.GetProperty("stream").GetString()!, data);
    }
    await session.SaveChangesAsync();
}
await daemon.WaitForNonStaleData(TimeSpan.FromMinutes(5));
Console.WriteLine("counted");
Console.ReadLine();
await daemon.StopAllAsync();

record Asset(string Type, string Content);
record ThreatStatusChanged(
    string Organization, string ThreatId, Asset Asset, string Status, DateTimeOffset CreatedAt, DateTimeOffset UpdatedAt);
record ThreatDeleted(string Organization, string ThreatId, DateTimeOffset DeletedAt);
record ReportFiled(
    string Organization, string ReportId, string[] Brands, DateTimeOffset CreatedAt, DateTimeOffset UpdatedAt);
record TakedownFiled(
    string Organization, string TakedownId, Asset Asset, string Status, DateTimeOffset CreatedAt, DateTimeOffset UpdatedAt);

/// <summary>Counts the newest states by organization, measure, type and day, with one statement per page of events.</summary>
class Counts : IProjection
{
    public const string Tables = """
        create table states (record text primary key, organization text, version bigint, measure text, type text, day int);
        create table counts (organization text, measure text, type text, day int, n bigint,
          primary key (organization, measure, type, day));
        """;
    const string Count = """
        with new as (
          select distinct on (record) *
          from unnest(?, ?, ?, ?, ?, ?) as u (record, organization, version, measure, type, day)
          order by record, version desc
        ), old as (
          select states.* from states join new using (record)
        ), stored as (
          insert into states select * from new
          on conflict (record) do update set (version, measure, type, day) =
            row (excluded.version, excluded.measure, excluded.type, excluded.day)
          where states.version < excluded.version
          returning *
        )
        insert into counts
        select organization, measure, type, day, sum(n) from (
          select organization, measure, type, day, 1 as n from stored
          union all
          select old.organization, old.measure, old.type, old.day, -1 from old join stored using (record)
        ) changes
        where measure <> '' group by 1, 2, 3, 4 having sum(n) <> 0
        on conflict (organization, measure, type, day) do update set n = counts.n + excluded.n
        """;

    /// <summary>The state of a record. Its measure is "" if it counts as nothing, its day is counted from 1970.</summary>
    record State(string Record, string Organization, long Version, string Measure, string Type, int Day);

    static State StateOf(IEvent recorded)
    {
        State Of(string organization, DateTimeOffset updatedAt, DateTimeOffset at, string measure, string type = "") =>
            new(recorded.StreamKey!, organization, updatedAt.UtcTicks, measure, type, (int)(at.ToUnixTimeSeconds() / 86_400));
        return recorded.Data switch
        {
            ThreatStatusChanged { Status: "BLOCKED" or "APPROVED" or "AUTO_APPROVED" } threat =>
                Of(threat.Organization, threat.UpdatedAt, threat.CreatedAt, "threat", threat.Asset.Type),
            ThreatStatusChanged threat => Of(threat.Organization, threat.UpdatedAt, threat.CreatedAt,
                threat.Status == "WATCHLISTED" ? "watchlisted" : ""),
            ThreatDeleted threat => Of(threat.Organization, threat.DeletedAt, threat.DeletedAt, ""),
            ReportFiled report => Of(report.Organization, report.UpdatedAt, report.CreatedAt, "report"),
            TakedownFiled takedown => Of(takedown.Organization, takedown.UpdatedAt, takedown.CreatedAt,
                takedown.Status == "COMPLETED" ? "takedown completed" : "takedown"),
            _ => throw new InvalidOperationException($"No measure for {recorded.EventTypeName}"),
        };
    }

    public Task ApplyAsync(IDocumentOperations operations, IReadOnlyList<IEvent> events, CancellationToken cancellation)
    {
        var states = events.Select(StateOf).ToArray();
        T[] Column<T>(Func<State, T> value) => states.Select(value).ToArray();
        operations.QueueSqlCommand(Count, Column(state => state.Record), Column(state => state.Organization),
            Column(state => state.Version), Column(state => state.Measure), Column(state => state.Type),
            Column(state => state.Day));
        return Task.CompletedTask;
    }
}
